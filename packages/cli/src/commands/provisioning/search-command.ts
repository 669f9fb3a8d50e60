/** Finds things by name, external id or serial number. */
import type { Command } from 'commander';
import type { Runner } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions } from '../../command-line/list-options.ts';
import { column, showList } from '../../command-line/list-output.ts';
import { fail } from '../../runtime/command-error.ts';

type SearchOptions = ListOptions & {
  readonly type?: string;
  readonly externalId?: string;
  readonly serial?: string;
  readonly merchant?: string;
  readonly store?: string;
};

export function addSearchCommand(program: Command, { act }: Runner): void {
  listOptions(program.command('search [text]'))
    .summary('find what is provisioned')
    .description('Finds what is provisioned: by how its name begins, or by an identifier.')
    .option(
      '--type <type>',
      'Organization, Merchant, Store, LogicalDevice, PhysicalDevice or PointOfSale',
    )
    .option('--external-id <id>', 'with this external id')
    .option('--serial <number>', 'with this serial number')
    .option('--merchant <id>', 'of this merchant')
    .option('--store <id>', 'of this store')
    .addHelpText(
      'after',
      '\nExamples:\n  $ switchyard search caf\n  $ switchyard search --serial 10000001 --json',
    )
    .action(
      act<SearchOptions>(async (kit, [q], options) => {
        const {
          type,
          externalId,
          serial: serialNumber,
          merchant: merchantId,
          store: storeId,
        } = options;
        const query = { q, type, externalId, serialNumber, merchantId, storeId };
        if ([q, externalId, serialNumber, merchantId, storeId].every((one) => one === undefined))
          fail('usage', 'Say what is looked for: the beginning of a name, or an option.');
        await showList(kit, '/provisioning/v2/search', query, options, [
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
