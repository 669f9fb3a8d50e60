/** `switchyard acquirer`: acquirer links, and checks of servers of the HTTP/JSON acquirer SPI. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import {
  parseMatching,
  parseWholeNumber,
  requireHttpUrl,
} from '../../command-line/list-options.ts';
import { type AcquirerCheck, acquirerChecks } from '../../conformance/acquirer/acquirer-checks.ts';
import {
  type AcquirerTestClient,
  createAcquirerTestClient,
} from '../../conformance/acquirer/acquirer-test-client.ts';
import {
  createSigningKey,
  parsePublicKey,
  readSigningKey,
} from '../../conformance/acquirer/signing-keys.ts';
import { runChecks } from '../../conformance/check-report.ts';
import { createTransport } from '../../http/https-transport.ts';
import { fail } from '../../runtime/command-error.ts';
import { readInputFile } from '../../session/private-files.ts';
import { acquirerLinkCommands } from '../provisioning/acquirer-link-commands.ts';

type Options = {
  readonly key: string;
  readonly acquirerKey: string;
  readonly caFile?: string;
  readonly certFile?: string;
  readonly certKeyFile?: string;
  readonly only?: string;
  readonly merchant: string;
  readonly terminal: string;
  readonly institution: string;
  readonly mcc: string;
  readonly currency: string;
  readonly amount: number;
  readonly declinedAmount?: number;
  readonly card: string;
  readonly expiry: string;
};

const amountMin = 10;

/** The client certificate for mutual TLS. */
function readClientCertificate({ certFile, certKeyFile }: Options) {
  if (certFile === undefined && certKeyFile === undefined) return undefined;
  if (certFile === undefined || certKeyFile === undefined) {
    return fail('usage', '--cert-file and --cert-key-file must be given together.');
  }
  const [cert, key] = [readInputFile(certFile), readInputFile(certKeyFile)];
  if (!isMatchingKey(cert, key)) {
    fail(
      'usage',
      `${certFile} and ${certKeyFile} are not a certificate and its private key in PEM format.`,
    );
  }
  return { cert, key };
}

function isMatchingKey(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function testDataFrom(options: Options) {
  if (options.amount < amountMin)
    fail(
      'usage',
      `--amount ${options.amount} is too small; use at least ${amountMin} minor units.`,
    );
  return {
    merchantId: options.merchant,
    terminalId: options.terminal,
    institutionId: options.institution,
    mcc: options.mcc,
    currency: options.currency,
    amount: options.amount,
    declinedAmount: options.declinedAmount,
    card: { number: options.card, expiry: options.expiry },
  };
}

/** Ends the command before the checks if no server of the SPI answers at this address. */
async function requireSpiServer(client: AcquirerTestClient, url: URL): Promise<void> {
  const { status } = await client.send('/v1/echo', {});
  if (status === 404) {
    fail(
      'notFound',
      `There is no server of the acquirer SPI at ${url.href}: /v1/echo answers 404. Check the address.`,
    );
  }
}

async function runConformance(context: CommandContext, [address = '']: string[], options: Options) {
  const url = requireHttpUrl(address);
  const selected = acquirerChecks.filter(({ group, name }) =>
    options.only === undefined ? true : `${group} ${name}`.includes(options.only),
  );
  const isSkipped = ({ needsDeclinedAmount }: AcquirerCheck) =>
    needsDeclinedAmount === true && options.declinedAmount === undefined;
  const runnable = selected.filter((check) => !isSkipped(check));
  for (const { name } of selected.filter(isSkipped))
    context.output.printNote(`Skipped, needs --declined-amount: ${name}`);
  if (runnable.length === 0)
    fail(
      'usage',
      `No check contains “${options.only}”. Run without --only to see the names of all checks.`,
    );
  const transport = createTransport({
    ca: options.caFile === undefined ? undefined : readInputFile(options.caFile),
    clientCertificate: readClientCertificate(options),
    timeoutMs: context.globals.timeout * 1000,
  });
  try {
    const client = createAcquirerTestClient({
      transport,
      url,
      clock: context.environment.clock,
      testData: testDataFrom(options),
      key: readSigningKey(options.key),
      acquirerKey: parsePublicKey(options.acquirerKey),
      acquirerKeyX: options.acquirerKey,
    });
    await requireSpiServer(client, url);
    return await runChecks(context, url, runnable, client);
  } finally {
    transport.close();
  }
}

async function createKeyFile({ output }: CommandContext, [file = '']: string[]): Promise<void> {
  const { x, keyId } = createSigningKey(file);
  output.printResult({ x, keyId, file }, () => output.formatMembers({ x, keyId, file }));
}

const textOption = (
  flags: string,
  description: string,
  pattern: RegExp,
  expected: string,
  value: string,
) => option(flags, description, { parse: parseMatching(pattern, expected), default: value });

const testDataOptions = [
  textOption(
    '--merchant <id>',
    'acquirer merchant number for the test payments',
    /^[A-Za-z0-9]{1,15}$/,
    '1 to 15 letters and digits',
    '100000000000001',
  ),
  textOption(
    '--terminal <id>',
    'terminal number of the test merchant',
    /^[A-Z0-9]{8}$/,
    '8 letters and digits',
    'TERM0001',
  ),
  textOption(
    '--institution <id>',
    'institution id of the platform',
    /^[0-9]{1,11}$/,
    '1 to 11 digits',
    '100001',
  ),
  textOption(
    '--mcc <code>',
    'merchant category code of the test merchant',
    /^[0-9]{4}$/,
    '4 digits',
    '5411',
  ),
  textOption(
    '--currency <code>',
    'currency of the test payments',
    /^[A-Z]{3}$/,
    'an ISO 4217 code',
    'EUR',
  ),
  textOption(
    '--card <number>',
    'number of the test card',
    /^[0-9]{12,19}$/,
    'a number',
    '4111111111111111',
  ),
  textOption('--expiry <yymm>', 'expiry date of the test card', /^[0-9]{4}$/, 'YYMM', '3012'),
  option(
    '--amount <minor>',
    'an amount that the server approves, also when it is captured in parts',
    { parse: parseWholeNumber, default: 1000 },
  ),
  option(
    '--declined-amount <minor>',
    'an amount that the server declines; enables the decline checks',
    { parse: parseWholeNumber },
  ),
];

export const acquirerCommands: CommandGroup = {
  group: 'acquirer',
  summary: 'acquirer links, and checks of servers of the acquirer SPI',
  description:
    'Shows the acquirer links, and checks servers of the HTTP/JSON acquirer SPI during their development.',
  commands: [
    ...acquirerLinkCommands,
    {
      command: 'key <file>',
      description:
        'Creates the private key with which the conformance check signs its requests in place of the platform.',
      run: createKeyFile,
      examples: ['switchyard acquirer key platform.pem'],
    },
    {
      command: 'conformance <url>',
      description:
        'Checks with test payments that a server conforms to the acquirer SPI. The exit code is 10 if a check fails.',
      options: [
        ...testDataOptions,
        option(
          '--key <file>',
          'private key file from “acquirer key”; its public key is configured at the server',
          { required: true },
        ),
        option('--acquirer-key <x>', 'public Ed25519 key of the server (the x of its JWK)', {
          required: true,
        }),
        option('--ca-file <file>', 'certificate authority of the server, as PEM'),
        option('--cert-file <file>', 'client certificate for mutual TLS, as PEM'),
        option('--cert-key-file <file>', 'private key of the client certificate, as PEM'),
        option('--only <text>', 'run only the checks whose name or group contains this text'),
      ],
      run: runConformance,
      examples: [
        'switchyard acquirer conformance https://acquirer.example/switchyard --key platform.pem --acquirer-key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
      ],
    },
  ],
};
