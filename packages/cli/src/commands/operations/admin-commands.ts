/** Commands of the platform's operator. */
import type { PlatformNumbering } from '@switchyard/contract';
import type { Command } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';

const path = '/health/v1/numbering';

function show({ screen }: Kit, numbering: PlatformNumbering): undefined {
  const { status, timeline, jumps } = numbering;
  screen.result(numbering, () => screen.members({ status, timeline, jumps }));
  return undefined;
}

export function addAdminCommands(program: Command, { act }: Runner): void {
  const admin = program
    .command('admin')
    .summary('commands of the platform’s operator')
    .description('Commands of the operator of the platform.');
  admin
    .command('numbering')
    .description('Shows whether new payments are refused because the database was restored.')
    .action(
      act(async (kit) => {
        const { body } = await kit.api().call<PlatformNumbering>('GET', path);
        return show(kit, body);
      }),
    );
  admin
    .command('recover-numbering')
    .description(
      'Ends the recovery after a restored database: all numbers skip a margin, and new payments are accepted again. Without a required recovery it changes nothing.',
    )
    .addHelpText('after', '\nExample:\n  $ switchyard admin recover-numbering --profile operator')
    .action(
      act(async (kit) => {
        const { body } = await kit.api().call<PlatformNumbering>('POST', `${path}/recover`);
        return show(kit, body);
      }),
    );
}
