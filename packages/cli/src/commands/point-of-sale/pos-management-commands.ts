/** `switchyard pos`: points of sale and their client credentials. */
import type { CommandDefinition, CommandGroup } from '../../command-line/command-definition.ts';
import { memberOption } from '../../command-line/command-option.ts';
import { column, idColumn } from '../../command-line/list-output.ts';
import { saleCommands } from './pos-sale-commands.ts';

const path = '/provisioning/v2/points-of-sale';

const managementCommands: readonly CommandDefinition[] = [
  {
    command: 'list',
    description: 'Lists points of sale.',
    route: `GET ${path}`,
    options: [memberOption('--store <id>', 'only those of this store', 'storeId')],
    columns: [idColumn('pointOfSaleId'), 'name', 'status', column('clientId', 'CLIENT ID', true)],
  },
  {
    command: 'create <name>',
    description: 'Creates a point of sale with client credentials of its own.',
    route: `POST ${path}`,
    takesMembers: true,
    hasSecret: true,
    options: [
      memberOption('--store <id>', 'store of the point of sale', 'storeId', { required: true }),
    ],
    examples: ['switchyard pos create "Till 3" --store 0198… --secret-out till-3.secret'],
  },
  {
    command: 'rotate-secret <id>',
    description:
      'Creates a new client secret of a point of sale. The old secret becomes invalid immediately.',
    route: `POST ${path}/{pointOfSaleId}/secret`,
    hasSecret: true,
  },
];

export const posCommands: CommandGroup = {
  group: 'pos',
  summary: 'manage points of sale, and start payments at a terminal',
  description:
    'Manages points of sale and their client credentials, and starts payments at a terminal.',
  commands: [...managementCommands, ...saleCommands],
};
