/** `switchyard search`: finds provisioned resources by name, external id or serial number. */
import type { Command } from 'commander';
import type { CommandRunner } from '../../command-line/command-runner.ts';
import { addListOptions, type ListOptions } from '../../command-line/list-options.ts';
import { column, printList } from '../../command-line/list-output.ts';
import { fail } from '../../runtime/command-error.ts';

type SearchOptions = ListOptions & {
  readonly type?: string;
  readonly externalId?: string;
  readonly serial?: string;
  readonly merchant?: string;
  readonly store?: string;
};

export function addSearchCommand(program: Command, { toAction }: CommandRunner): void {
  addListOptions(program.command('search [text]'))
    .summary('find provisioned resources')
    .description('Finds provisioned resources by the start of their name or by an identifier.')
    .option(
      '--type <type>',
      'only this type: Organization, Merchant, Store, LogicalDevice, PhysicalDevice or PointOfSale',
    )
    .option('--external-id <id>', 'only those with this external id')
    .option('--serial <number>', 'only those with this serial number')
    .option('--merchant <id>', 'only those of this merchant')
    .option('--store <id>', 'only those of this store')
    .addHelpText(
      'after',
      '\nExamples:\n  $ switchyard search caf\n  $ switchyard search --serial 10000001 --json',
    )
    .action(
      toAction<SearchOptions>(async (context, [q], options) => {
        const {
          type,
          externalId,
          serial: serialNumber,
          merchant: merchantId,
          store: storeId,
        } = options;
        const query = { q, type, externalId, serialNumber, merchantId, storeId };
        if ([q, externalId, serialNumber, merchantId, storeId].every((one) => one === undefined))
          fail('usage', 'Name what to search for: the start of a name, or one of the options.');
        await printList(context, '/provisioning/v2/search', query, options, [
          column('type'),
          column('id', 'ID', true),
          column('name'),
          column('externalId', 'EXTERNAL ID'),
          column('status'),
        ]);
        return undefined;
      }),
    );
}
