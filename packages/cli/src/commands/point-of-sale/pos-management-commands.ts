/** `switchyard pos`: points of sale and their client credentials. */
import type { Command } from 'commander';
import type { CommandRunner } from '../../command-line/command-runner.ts';
import { addListOptions, type ListOptions } from '../../command-line/list-options.ts';
import { column, idColumn, printList, printResource } from '../../command-line/list-output.ts';
import { addSetOptions, parseMembers, type SetOptions } from '../../command-line/member-options.ts';
import {
  addSecretOptions,
  openSecretOutput,
  rotateSecret,
  type SecretOptions,
} from '../../command-line/secret-output.ts';
import { addSaleCommands } from './pos-sale-commands.ts';

const pointsOfSalePath = '/provisioning/v2/points-of-sale';

export function addPosCommands(program: Command, runner: CommandRunner): void {
  const { toAction } = runner;
  const pos = program
    .command('pos')
    .summary('manage points of sale, and sell at a terminal')
    .description('Manages points of sale and their client credentials, and sells at a terminal.');
  addListOptions(pos.command('list'))
    .description('Lists points of sale.')
    .option('--store <id>', 'only those of this store')
    .action(
      toAction<ListOptions & { store?: string }>(async (context, _args, options) => {
        await printList(context, pointsOfSalePath, { storeId: options.store }, options, [
          idColumn('pointOfSaleId'),
          column('name'),
          column('status'),
          column('clientId', 'CLIENT ID', true),
        ]);
        return undefined;
      }),
    );
  addSecretOptions(addSetOptions(pos.command('create <name>'), false))
    .description('Creates a point of sale with client credentials of its own.')
    .requiredOption('--store <id>', 'store of the point of sale')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard pos create "Till 3" --store 0198… --secret-out till-3.secret',
    )
    .action(
      toAction<SetOptions & SecretOptions & { store: string }>(
        async (context, [name = ''], options) => {
          const outputSecret = openSecretOutput(options);
          const body = { ...parseMembers(options), name, storeId: options.store };
          printResource(
            context,
            outputSecret((await context.api().call('POST', pointsOfSalePath, { body })).body),
          );
          return undefined;
        },
      ),
    );
  addSecretOptions(pos.command('rotate-secret <id>'))
    .description('Creates a new client secret of a point of sale. The old one is invalid at once.')
    .action(
      toAction<SecretOptions>((context, [id = ''], options) =>
        rotateSecret(context, `${pointsOfSalePath}/${encodeURIComponent(id)}/secret`, options),
      ),
    );
  addSaleCommands(pos, runner);
}
