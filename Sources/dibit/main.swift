internal import DibitCommand

Dibit.runAndExit()
