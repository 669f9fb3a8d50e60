/** `switchyard search`: finds provisioned resources by name, external id or serial number. */

import type { CommandDefinition } from '../../command-line/command-definition.ts';
import {
  memberOption,
  membersFromOptions,
  type OptionValues,
  option,
} from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import { type ListOptions, listOptions } from '../../command-line/list-options.ts';
import { column, printList } from '../../command-line/list-output.ts';
import type { Query } from '../../http/api-client.ts';
import { fail } from '../../runtime/command-error.ts';

const filters = [
  memberOption('--external-id <id>', 'only those with this external id', 'externalId'),
  memberOption('--serial <number>', 'only those with this serial number', 'serialNumber'),
  memberOption('--merchant <id>', 'only those of this merchant', 'merchantId'),
  memberOption('--store <id>', 'only those of this store', 'storeId'),
];

async function search(context: CommandContext, [q]: string[], options: OptionValues & ListOptions) {
  const criteria = membersFromOptions(filters, options) as Query;
  if (q === undefined && Object.keys(criteria).length === 0)
    fail('usage', 'Name what to search for: the start of a name, or one of the options.');
  const query = { q, type: options['type'] as string | undefined, ...criteria };
  await printList(context, '/provisioning/v2/search', query, options, [
    'type',
    column('id', 'ID', true),
    'name',
    column('externalId', 'EXTERNAL ID'),
    'status',
  ]);
}

export const searchCommand: CommandDefinition = {
  command: 'search [text]',
  summary: 'find provisioned resources',
  description: 'Finds provisioned resources by the start of their name or by an identifier.',
  options: [
    ...listOptions,
    option(
      '--type <type>',
      'only this type: Organization, Merchant, Store, LogicalDevice, PhysicalDevice or PointOfSale',
    ),
    ...filters,
  ],
  run: search,
  examples: ['switchyard search caf', 'switchyard search --serial 10000001 --json'],
};
