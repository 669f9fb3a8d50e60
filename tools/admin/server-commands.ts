// The commands of `switchyard` that need a server installation: its database, its keys or its code.
import type {
  CommandDefinition,
  FunctionCommand,
} from '../../packages/cli/src/command-line/command-definition.ts';
import { option } from '../../packages/cli/src/command-line/command-option.ts';
import {
  parseMatching,
  parseWholeNumber,
} from '../../packages/cli/src/command-line/list-options.ts';
import type { ServerCommands } from '../../packages/cli/src/program.ts';
import { CommandError, fail } from '../../packages/cli/src/runtime/command-error.ts';
import type { ExitName } from '../../packages/cli/src/runtime/exit-codes.ts';
import { ProblemError } from '../../packages/contract/src/index.ts';
import {
  mailAddressPattern,
  organizationNamePattern,
  userDomainPattern,
} from './account-patterns.ts';

type Run = FunctionCommand['run'];

/** Loads the platform only for a valid command line, because loading is slow. Its errors are those of the command. */
const platformCommand =
  <Name extends string>(load: () => Promise<Record<Name, Run>>, name: Name): Run =>
  async (...call) => {
    try {
      const { [name]: run } = await load();
      return await (run(...call) as Promise<ExitName | undefined>);
    } catch (error) {
      if (error instanceof CommandError) throw error;
      const { message } = error instanceof Error ? error : new Error(String(error));
      return fail('fault', error instanceof ProblemError ? error.detail : message);
    }
  };

const setup = () => import('./setup/setup.ts');
const operator = () => import('./operator.ts');
const realmKeys = () => import('./realm-keys.ts');
const cardKeys = () => import('./card-keys.ts');
const hsmKeys = () => import('./hsm-keys.ts');
const reports = () => import('./reports.ts');
const migrate = () => import('./migrate.ts');
const doctor = () => import('./doctor/doctor.ts');
const ledger = () => import('./ledger.ts');
const certification = () => import('./certify/certify.ts');
const compare = () => import('./compare-gateway/compare.ts');

const setupCommand: CommandDefinition = {
  command: 'setup',
  summary: 'set up a new platform up to its first sale',
  description:
    'Creates what the first sale of a new platform needs: the operator, the acquirer with an administrator, the acquirer link and its approval, a merchant with contract, store and terminal, and an application. The values come from a file in YAML or JSON; if the file does not exist, the command asks for them and writes the file. Existing entities stay unchanged, so that you can run the command again. You can run it before the first start of the platform or while the platform runs.',
  options: [
    option('--file <file>', 'the file of the setup', { default: 'setup.yaml' }),
    option(
      '--secrets-out <file>',
      'append new secrets to this file, one JSON line each; only you can read it',
    ),
    option('--show-secrets', 'print new secrets on stderr'),
  ],
  run: platformCommand(setup, 'runSetup'),
  examples: ['switchyard admin setup --file setup.yaml --secrets-out secrets.jsonl'],
};

const operatorCommands: CommandDefinition = {
  group: 'operator',
  summary: 'create the operator of an empty platform',
  description: 'Creates the operator of an empty platform. The operator approves sign-ups.',
  commands: [
    {
      command: 'create',
      description:
        'Creates the organisation of the operator, its user domain, and an application that can approve sign-ups. Prints the client secret of the application; the platform stores only a hash of it. A second create fails: a platform has one operator. You can run the command before the first start of the platform or while the platform runs.',
      options: [
        option('--name <name>', 'name of the organisation', {
          parse: parseMatching(organizationNamePattern, '1 to 100 characters'),
          default: 'Platform',
        }),
        option('--domain <id>', 'user domain of the organisation', {
          parse: parseMatching(userDomainPattern, 'small letters, digits and hyphens'),
          default: 'operator',
        }),
        option(
          '--administrator <address>',
          'mail address of a first administrator of the organisation; the platform sends an invitation',
          {
            parse: parseMatching(mailAddressPattern, 'a mail address'),
          },
        ),
      ],
      run: platformCommand(operator, 'createOperator'),
      examples: ["switchyard admin operator create --name 'Example Pay'"],
    },
    {
      command: 'rotate-secret',
      description:
        'Creates a new client secret of the application. The old secret becomes invalid immediately.',
      run: platformCommand(operator, 'rotateSecret'),
    },
  ],
};

const realmKeyCommands: CommandDefinition = {
  group: 'realm-keys',
  summary: 'list and replace the signing keys of a user domain',
  description: 'Lists and replaces the signing keys of a user domain (realm).',
  commands: [
    {
      command: 'list <domain>',
      description:
        'Lists the keys of a user domain that sign new tokens or still verify older ones.',
      run: platformCommand(realmKeys, 'listRealmKeys'),
    },
    {
      command: 'rotate <domain>',
      description:
        'Publishes new signing keys. After one hour, when all clients have read the new key set, the platform signs tokens with the new keys. The old keys stay valid until the last token that they signed has expired.',
      options: [
        option(
          '--now',
          'for a stolen key: the new keys sign immediately, and the platform refuses all tokens that the old keys signed',
        ),
      ],
      run: platformCommand(realmKeys, 'rotateKeys'),
    },
  ],
};

const cardKeyCommands: CommandDefinition = {
  group: 'vault',
  summary: 'list and replace the keys of stored cards',
  description: 'Lists and replaces the keys of stored cards, without access to a key or a card.',
  commands: [
    {
      command: 'status',
      description:
        'Lists the keys of stored cards, the key that wraps each of them, and the re-encryptions that are running. With --organization, the command lists only the keys of this organisation.',
      run: platformCommand(cardKeys, 'listCardKeys'),
    },
    {
      command: 'rotate-keys',
      description:
        'Replaces the key of the organisation in --organization, or the keys of all organisations with --all. The platform encrypts new cards with the new key immediately. A job re-encrypts the other cards; refunds with these cards stay possible during this time.',
      options: [option('--all', 'replace the keys of all organisations')],
      run: platformCommand(cardKeys, 'rotateKeys'),
    },
    {
      command: 'accesses',
      description:
        'Lists the accesses to card numbers of the organisation in --organization, with the client, purpose and result of each, the oldest first. By default these are the accesses of the last 24 hours.',
      options: [
        option('--from <time>', 'from this time on, such as 2026-03-01T00:00:00Z'),
        option('--to <time>', 'before this time; default: now'),
        option('--limit <count>', 'maximum number of accesses', {
          parse: parseWholeNumber,
          default: 1000,
        }),
      ],
      run: platformCommand(cardKeys, 'listAccesses'),
    },
    {
      command: 'make-key',
      description:
        'Creates the AES-256 key that wraps the keys of stored cards, in a PKCS#11 module. The settings SWITCHYARD_VAULT_PKCS11_MODULE, _TOKEN, _KEY and _PIN give the module, the token, the name of the key and the PIN.',
      run: platformCommand(cardKeys, 'createPkcs11Key'),
    },
  ],
};

const hsmKeyCommands: CommandDefinition = {
  group: 'hsm-keys',
  summary: 'import keys into the software HSM by components',
  description:
    'Imports keys into the software HSM of demo and test by components. In production, load keys into the HSM itself. The platform loads a new key at its next start.',
  commands: [
    {
      command: 'custodian <name>',
      description:
        'Adds a custodian of key components, with a passphrase of at least 12 characters.',
      run: platformCommand(hsmKeys, 'addCustodian'),
    },
    {
      command: 'component <key>',
      description:
        'Reads one component of a key from a hidden prompt. Each component must come from a different custodian. The last component completes the key, which is stored encrypted. Only check values are shown.',
      options: [
        option('--custodian <name>', 'custodian of the component', { required: true }),
        option('--usage <usage>', 'usage of the key', {
          choices: ['BaseDerivation', 'KeyEncryption', 'TerminalPin', 'ZonePin', 'Mac'],
          required: true,
        }),
        option('--algorithm <algorithm>', 'algorithm of the key', {
          choices: ['Tdes', 'Aes'],
          required: true,
        }),
        option('--of <count>', 'number of components, from 2 to 5', {
          parse: (text: string) => Number(parseMatching(/^[2-5]$/, 'a number from 2 to 5')(text)),
          default: 2,
        }),
        option(
          '--devices <prefixes>',
          'only for a base derivation key: prefixes of the serial numbers of the devices that use it, separated by commas',
          { parse: (text: string) => text.toUpperCase().split(',') },
        ),
        option(
          '--derivation <algorithm>',
          'only for a base derivation key: type of the working keys; default: TDES_2KEY for Tdes, AES_128 for Aes',
          { choices: ['TDES_2KEY', 'TDES_3KEY', 'AES_128', 'AES_192', 'AES_256'] },
        ),
        option(
          '--check-value <digits>',
          'expected check value (KCV) of the complete key; if it differs, the command deletes all components',
        ),
      ],
      run: platformCommand(hsmKeys, 'addComponent'),
    },
    {
      command: 'list',
      description: 'Lists keys and incomplete keys with name, usage and check value.',
      run: platformCommand(hsmKeys, 'listHsmKeys'),
    },
    {
      command: 'remove <key>',
      description: 'Deletes a key, or the components of an incomplete key.',
      run: platformCommand(hsmKeys, 'removeKey'),
    },
  ],
};

const reportCommands: CommandDefinition = {
  group: 'reports',
  summary: 'compare reports with payments, and rebuild them',
  description: 'Compares the reports of an organisation with its payments, and rebuilds them.',
  commands: [
    {
      command: 'check <organization>',
      description:
        'Adds up all payments of an organisation and compares each sum with its reports. You can run the command while payments are made. The exit code is 1 if a sum differs.',
      run: platformCommand(reports, 'checkReports'),
    },
    {
      command: 'rebuild <organization>',
      description:
        'Requests new reports for an organisation. A running platform deletes the reports and builds them again from the payments.',
      run: platformCommand(reports, 'rebuild'),
    },
  ],
};

/** They read the settings of the platform (SWITCHYARD_…), and can run beside it. */
const adminCommands: readonly CommandDefinition[] = [
  setupCommand,
  operatorCommands,
  realmKeyCommands,
  cardKeyCommands,
  hsmKeyCommands,
  reportCommands,
  {
    command: 'doctor',
    summary: 'check the installation, and write a support bundle',
    description:
      'Checks settings, certificates, disk, database (version, schema, privileges, indexes, replication, clock), processes of the platform, DNS, mail server, NATS, HSM and acquirer links. Prints the findings with advice, and changes nothing. The exit code is 0 if all is well, 1 if something needs attention, and 2 if the command line is invalid.',
    options: [
      option(
        '--bundle <file>',
        'write a support bundle to this new file: settings without secrets, versions, findings, metrics, and the end of --log-file, without card data',
      ),
      option('--log-file <file>', 'log of a process, whose last 2,000 lines go into the bundle'),
    ],
    run: platformCommand(doctor, 'runDoctor'),
    examples: ['switchyard admin doctor --bundle bundle.json --log-file switchyard.log'],
  },
  {
    command: 'migrate',
    summary: 'bring the schema of the database up to date',
    description:
      'Applies the missing migrations to the database, as the start of the platform does, and ends. Of several processes one migrates, and the others wait. Stop all processes of the older version before.',
    run: platformCommand(migrate, 'migrateDatabase'),
  },
  {
    command: 'ledger',
    summary: "print the acquirer simulator's ledger",
    description:
      'Prints the ledger of the acquirer simulator of the demo, also while it runs. The exit code is 1 if the ledger is out of balance.',
    options: [
      option('--last <count>', 'number of the latest originals to list', {
        parse: parseWholeNumber,
        default: 50,
      }),
    ],
    run: platformCommand(ledger, 'printLedger'),
  },
];

const certifyCommand: CommandDefinition = {
  command: 'certify',
  description:
    'Runs the test script of an acquirer against its test host, over a connection of its own with the settings, keys and certificate of the link, and writes a signed report with the bytes of each message. It stores no payment. After Ctrl+C the next run continues with the first case that is not finished. The exit code is 10 if a case fails.',
  options: [
    option('--link <link>', 'id or name of the acquirer link', { required: true }),
    option('--plan <file>', 'the plan: cases in YAML or JSON', { required: true }),
    option(
      '--report <dir>',
      'directory of the report and of the finished cases; default: certification-LINK',
    ),
    option('--from <case>', 'run this case and all later ones'),
    option('--only <text>', 'run only the cases whose id or title contains this text'),
    option('--restart', 'run all cases again'),
  ],
  finishes: true,
  run: platformCommand(certification, 'certify'),
  examples: [
    'switchyard acquirer certify --link north --plan deploy/certification/acquirer-plan.yaml --report certification-north',
  ],
};

const parsePercent = parseMatching(
  /^(?:100|\d{1,2}(?:\.\d{1,6})?)%?$/,
  'a percentage from 0% to 100%',
);
const parseFields = parseMatching(
  /^\d{1,3}(?:,\d{1,3})*$/,
  'numbers of fields, separated by commas',
);

const compareCommand: CommandDefinition = {
  command: 'compare',
  description:
    'Compares recorded traffic of the gateway in use with the messages that the platform would send for the same payments, field by field, and checks the responses as the platform does. Connects to no host and no database. No output contains card data. The exit code is 8 if more messages differ than --tolerance allows.',
  options: [
    option(
      '--trace <file>',
      'the recorded traffic: a capture of TCP (pcap or pcapng), or JSON lines',
      { required: true },
    ),
    option('--dialect <table>', 'a built-in host table, or a file with a host table', {
      required: true,
    }),
    option('--tolerance <percent>', 'share of the messages that may differ, such as 0.5%', {
      parse: (text: string) => Number.parseFloat(parsePercent(text)),
      default: 0,
    }),
    option('--port <number>', 'the port of the host: reads only its connections', {
      parse: parseWholeNumber,
    }),
    option('--ignore <fields>', 'fields of the host that are not compared, such as 37,60', {
      parse: (text: string) => parseFields(text).split(',').map(Number),
    }),
    option('--out <file>', 'write each message with its fields to this new file, as JSON lines'),
  ],
  run: platformCommand(compare, 'compareGateway'),
  examples: [
    'switchyard acquirer compare --trace gateway.pcap --port 8583 --dialect north-bank.json',
  ],
};

export const serverCommands: ServerCommands = {
  admin: adminCommands,
  acquirer: [certifyCommand, compareCommand],
};
