/** `switchyard provider`: checks servers of the provider SPI. */
import { randomBytes } from 'node:crypto';
import { defined, providerAnswerMs, providerPaths } from '@switchyard/contract';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import {
  type HostAndPort,
  parseHostAndPort,
  parseMatching,
  parseWholeNumber,
  requireHttpUrl,
} from '../../command-line/list-options.ts';
import { runChecks } from '../../conformance/check-report.ts';
import type { ProviderCheck, RequiredOption } from '../../conformance/provider/check-steps.ts';
import {
  type EventReceiver,
  startEventReceiver,
} from '../../conformance/provider/event-receiver.ts';
import { providerChecks } from '../../conformance/provider/provider-checks.ts';
import {
  createProviderTestClient,
  type ProviderTestClient,
  type TestData,
} from '../../conformance/provider/provider-test-client.ts';
import { createTransport } from '../../http/https-transport.ts';
import { fail } from '../../runtime/command-error.ts';
import { createNewFile, readInputFile } from '../../session/private-files.ts';

type Options = {
  readonly secretFile: string;
  readonly caFile?: string;
  readonly only?: string;
  readonly listen: HostAndPort;
  readonly eventsUrl?: string;
  readonly paymentType: string;
  readonly currency: string;
  readonly amount: number;
  readonly pendingAmount?: number;
  readonly paidAmount?: number;
  readonly declinedAmount?: number;
  readonly scanned?: string;
  readonly answerWithin: number;
  readonly wait: number;
  readonly settle: number;
  readonly retryWait: number;
};

const secretPattern = /^whsec_([A-Za-z0-9+/]{32,88}={0,2})$/;
const keyBytes = 32;
const keyBytesMin = 24;
const keyBytesMax = 64;
/** The checks use half of each amount, and more and less than it. */
const amountMin = 10;
const waitSeconds = 20;
const settleSeconds = 3;
const retryWaitSeconds = 90;
const defaultAmount = 1000;

const optionFlags: Readonly<Record<RequiredOption, string>> = {
  paidAmount: '--paid-amount',
  declinedAmount: '--declined-amount',
  scanned: '--scanned',
};

function readEncryptedSigningSecret(file: string): Buffer {
  const [, text = ''] = secretPattern.exec(readInputFile(file).trim()) ?? [];
  const key = Buffer.from(text, 'base64');
  if (key.length >= keyBytesMin && key.length <= keyBytesMax) return key;
  return fail(
    'usage',
    `${file} does not contain a signing secret, which begins with whsec_. Create one: switchyard provider secret <file>`,
  );
}

function testDataFrom(options: Options): TestData {
  const { amount, pendingAmount = amount, paidAmount, declinedAmount, scanned } = options;
  for (const each of [amount, pendingAmount, paidAmount, declinedAmount]) {
    if (each !== undefined && each < amountMin) {
      fail('usage', `The amount ${each} is too small; use at least ${amountMin} minor units.`);
    }
  }
  return {
    paymentType: options.paymentType,
    currency: options.currency,
    amount,
    pendingAmount,
    paidAmount,
    declinedAmount,
    scanned,
    answerMs: options.answerWithin * 1000,
    waitMs: options.wait * 1000,
    settleMs: options.settle * 1000,
    retryMs: options.retryWait * 1000,
  };
}

function selectChecks(
  context: CommandContext,
  { only }: Options,
  testData: TestData,
): readonly ProviderCheck[] {
  const selected = providerChecks.filter(({ group, fault, name }) =>
    only === undefined ? true : `${group} ${fault} ${name}`.includes(only),
  );
  if (selected.length === 0)
    fail(
      'usage',
      `No check contains “${only}”. Run without --only to see the names of all checks.`,
    );
  const isSkipped = ({ requires }: ProviderCheck) =>
    requires !== undefined && testData[requires] === undefined;
  const skipped = selected.filter(isSkipped);
  const missingOptions = [...new Set(skipped.map(({ requires }) => requires as RequiredOption))];
  const runnable = selected.filter((check) => !isSkipped(check));
  if (runnable.length === 0) {
    const options = missingOptions.map((need) => optionFlags[need]).join(', ');
    return fail('usage', `The selected checks need ${options}.`);
  }
  for (const need of missingOptions) {
    const skippedChecks = skipped.filter(({ requires }) => requires === need);
    const groups = [...new Set(skippedChecks.map(({ group }) => group))].join(', ');
    const countText = skippedChecks.length === 1 ? '1 check' : `${skippedChecks.length} checks`;
    context.output.printNote(`Skipped without ${optionFlags[need]}: ${countText} of ${groups}`);
  }
  return runnable;
}

/** Ends the command before the checks if no server of the SPI answers at this address. */
async function requireSpiServer(client: ProviderTestClient, url: URL): Promise<void> {
  const { status } = await client.get(providerPaths.health);
  if (status !== 404) return;
  const { status: other } = await client.post(providerPaths.payments, client.payment());
  if (other === 404 || other === 405) {
    fail('notFound', `There is no server of the provider SPI at ${url.href}. Check the address.`);
  }
}

async function startReceiver(
  context: CommandContext,
  { listen, eventsUrl }: Options,
): Promise<EventReceiver> {
  const publicUrl = eventsUrl === undefined ? undefined : requireHttpUrl(eventsUrl).href;
  return startEventReceiver({ ...listen, publicUrl, clock: context.environment.clock });
}

async function check(context: CommandContext, [address = '']: string[], options: Options) {
  const url = requireHttpUrl(address);
  const testData = testDataFrom(options);
  const key = readEncryptedSigningSecret(options.secretFile);
  const runnable = selectChecks(context, options, testData);
  const transport = createTransport({
    ca: options.caFile === undefined ? undefined : readInputFile(options.caFile),
    timeoutMs: context.globals.timeout * 1000,
  });
  const receiver = await startReceiver(context, options);
  try {
    const { clock } = context.environment;
    const client = createProviderTestClient({ transport, url, key, clock, testData, receiver });
    await requireSpiServer(client, url);
    return await runChecks(context, url, runnable, client);
  } finally {
    transport.close();
    await receiver.close();
  }
}

/** Creates a signing secret for a test server in a new file. */
async function createSecret({ output }: CommandContext, [file = '']: string[]): Promise<void> {
  createNewFile(file, `whsec_${randomBytes(keyBytes).toString('base64')}\n`);
  output.printResult({ file }, () => output.formatMembers({ file }));
}

const numberOption = (flags: string, description: string, value?: number) =>
  option(flags, description, { parse: parseWholeNumber, ...defined({ default: value }) });

const testDataOptions = [
  option('--payment-type <code>', 'a payment type of your service', {
    parse: parseMatching(/^[A-Za-z][A-Za-z0-9._-]{0,63}$/, 'a code'),
    default: 'demopay',
  }),
  option('--currency <code>', 'currency of the test payments', {
    parse: parseMatching(/^[A-Z]{3}$/, 'an ISO 4217 code'),
    default: 'EUR',
  }),
  numberOption('--amount <minor>', 'an amount that the server accepts', defaultAmount),
  numberOption(
    '--pending-amount <minor>',
    'an amount that stays pending until the consumer pays; default: --amount',
  ),
  numberOption(
    '--paid-amount <minor>',
    'an amount that your test server reports as paid without a consumer; enables the checks of paid payments',
  ),
  numberOption(
    '--declined-amount <minor>',
    'an amount that the server declines; enables the decline checks',
  ),
  option('--scanned <code>', 'a code of a consumer’s wallet; enables the checks of scanned codes', {
    parse: parseMatching(/^.{1,1024}$/, '1 to 1024 characters'),
  }),
  numberOption('--answer-within <seconds>', 'maximum time of a response', providerAnswerMs / 1000),
  numberOption('--wait <seconds>', 'how long to wait for an outcome', waitSeconds),
  numberOption(
    '--settle <seconds>',
    'time after the outcome in which the check looks for unexpected events',
    settleSeconds,
  ),
  numberOption(
    '--retry-wait <seconds>',
    'how long to wait until the server sends an event again',
    retryWaitSeconds,
  ),
];

export const providerCommands: CommandGroup = {
  group: 'provider',
  summary: 'check servers of the provider SPI',
  description: 'Commands for the development of a server of the provider SPI for QR payments.',
  commands: [
    {
      command: 'secret <file>',
      description:
        'Creates a signing secret that your test server and the conformance check share.',
      run: createSecret,
      examples: ['switchyard provider secret signing-secret'],
    },
    {
      command: 'conformance <url>',
      description:
        'Checks with test payments that a server conforms to the provider SPI. The command receives the events of the server. The exit code is 10 if a check fails.',
      options: [
        ...testDataOptions,
        option('--secret-file <file>', 'file with the signing secret that the server also uses', {
          required: true,
        }),
        option('--ca-file <file>', 'certificate authority of the server, as PEM'),
        option('--listen <host:port>', 'address on which the command receives events', {
          parse: parseHostAndPort('127.0.0.1:8090'),
          default: { host: '127.0.0.1', port: 0 },
          defaultText: '127.0.0.1, any free port',
        }),
        option(
          '--events-url <url>',
          'URL of --listen for the server, if the server runs on another machine',
        ),
        option(
          '--only <text>',
          'run only the checks whose name, group or fault code contains this text',
        ),
      ],
      run: check,
      examples: [
        'switchyard provider conformance https://provider.example/spi --secret-file signing-secret --paid-amount 1000',
      ],
    },
  ],
};
