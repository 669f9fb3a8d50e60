/** `switchyard admin`: commands of the platform operator. */
import type { PlatformNumbering } from '@switchyard/contract';
import type { Command } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';

const path = '/health/v1/numbering';

function show({ output }: CommandContext, numbering: PlatformNumbering): undefined {
  const { status, timeline, jumps } = numbering;
  output.printResult(numbering, () => output.formatMembers({ status, timeline, jumps }));
  return undefined;
}

export function addAdminCommands(program: Command, { toAction }: CommandRunner): void {
  const admin = program
    .command('admin')
    .summary('commands of the platform operator')
    .description('Commands of the platform operator.');
  admin
    .command('numbering')
    .description('Shows whether the platform rejects new payments after a database restore.')
    .action(
      toAction(async (context) => {
        const { body } = await context.api().call<PlatformNumbering>('GET', path);
        return show(context, body);
      }),
    );
  admin
    .command('recover-numbering')
    .description(
      'Ends the recovery after a database restore: each number sequence jumps ahead, so that no number is used twice, and the platform accepts new payments again. It changes nothing if no recovery is required.',
    )
    .addHelpText('after', '\nExample:\n  $ switchyard admin recover-numbering --profile operator')
    .action(
      toAction(async (context) => {
        const { body } = await context.api().call<PlatformNumbering>('POST', `${path}/recover`);
        return show(context, body);
      }),
    );
}
