//! Simulated: a Machine of up to thousands of modelled cores with modelled time
