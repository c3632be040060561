import type { DoctorFlags } from '../doctor/doctor.ts';
import { defineCommand, outputOption, PATHS, stateOption } from './command.ts';

export const doctorCommand = defineCommand(
  {
    name: 'doctor',
    does: 'check this machine, and the servers and issuers in these files; each line says how to fix it',
    example: 'vmcp doctor manifests/',
    network: true,
  },
  (command) =>
    command
      .argument('[paths...]', PATHS[1])
      .addOption(stateOption())
      .addOption(outputOption())
      .action(async (paths: string[], flags: DoctorFlags) => {
        const { doctor } = await import('../doctor/doctor.ts');
        process.exitCode = await doctor(paths, flags);
      }),
);
