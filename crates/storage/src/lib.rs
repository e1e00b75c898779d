//! Records, tables, arenas, reclamation and indexes, generic over the machine
