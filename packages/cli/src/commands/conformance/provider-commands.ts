/** `switchyard provider`: checks servers of the provider SPI. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { providerAnswerMs, providerPaths } from '@switchyard/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { CommandContext, CommandRunner } from '../../command-line/command-runner.ts';
import { parseWholeNumber } from '../../command-line/list-options.ts';
import { type CheckResult, formatReport, runCheck } from '../../conformance/check-report.ts';
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
import { readInputFile } from '../../session/private-files.ts';

type Options = {
  readonly secretFile: string;
  readonly caFile?: string;
  readonly only?: string;
  readonly listen: { readonly host: string; readonly port: number };
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
const ownerOnly = 0o600;
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

function parseUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return fail('usage', `${text} is not a valid URL. Enter one such as https://acquirer.example.`);
  }
  return url;
}

function readSigningSecret(file: string): Buffer {
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
  const publicUrl = eventsUrl === undefined ? undefined : parseUrl(eventsUrl).href;
  return startEventReceiver({ ...listen, publicUrl, clock: context.environment.clock });
}

async function check(context: CommandContext, address: string, options: Options) {
  const url = parseUrl(address);
  const testData = testDataFrom(options);
  const key = readSigningSecret(options.secretFile);
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
    const results: CheckResult[] = [];
    // The checks run one after another; a check that needs concurrent requests sends them itself.
    for (const each of runnable)
      results.push(await runCheck(context, each, () => each.run(client)));
    const failed = results.filter(({ ok }) => !ok).length;
    const outcome = { url: url.href, passed: results.length - failed, failed, checks: results };
    context.output.printResult(outcome, () => formatReport(context, results));
    return failed === 0 ? undefined : 'notConforming';
  } finally {
    transport.close();
    await receiver.close();
  }
}

/** Creates a signing secret for a test server in a new file. */
function createSecretFile(context: CommandContext, file: string): Promise<undefined> {
  const text = `whsec_${randomBytes(keyBytes).toString('base64')}`;
  try {
    writeFileSync(file, `${text}\n`, { mode: ownerOnly, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    fail(
      'usage',
      code === 'EEXIST' ? `${file} exists already. Name a new file.` : `${file}: ${code}.`,
    );
  }
  context.output.printResult({ file }, () => context.output.formatMembers({ file }));
  return Promise.resolve(undefined);
}

function parseHostAndPort(text: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(\[[0-9a-f:]+\]|[^:]*):(\d{1,5})$/i.exec(text) ?? [];
  if (host !== '' && Number(port) < 65_536) {
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  }
  throw new InvalidArgumentError('Enter a host and a port, such as 127.0.0.1:8090.');
}

const parseMatching =
  (pattern: RegExp, expected: string) =>
  (text: string): string => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`The value must be ${expected}.`);
  };

function addTestDataOptions(command: Command): Command {
  const number = (flags: string, description: string, value?: number) => {
    const option = new Option(flags, description).argParser(parseWholeNumber);
    command.addOption(value === undefined ? option : option.default(value));
  };
  const text = (
    flags: string,
    description: string,
    pattern: RegExp,
    expected: string,
    value: string,
  ) =>
    command.addOption(
      new Option(flags, description).argParser(parseMatching(pattern, expected)).default(value),
    );
  const code = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
  text('--payment-type <code>', 'a payment type of your service', code, 'a code', 'demopay');
  text(
    '--currency <code>',
    'currency of the test payments',
    /^[A-Z]{3}$/,
    'an ISO 4217 code',
    'EUR',
  );
  number('--amount <minor>', 'an amount that the server accepts', defaultAmount);
  number(
    '--pending-amount <minor>',
    'an amount that stays pending until the consumer pays; default: --amount',
  );
  number(
    '--paid-amount <minor>',
    'an amount that your test server pays without a consumer; enables the checks of paid payments',
  );
  number(
    '--declined-amount <minor>',
    'an amount that the server declines; enables the decline checks',
  );
  command.addOption(
    new Option(
      '--scanned <code>',
      'a code of a consumer’s wallet; enables the checks of scanned codes',
    ).argParser(parseMatching(/^.{1,1024}$/, '1 to 1024 characters')),
  );
  number('--answer-within <seconds>', 'maximum time of a response', providerAnswerMs / 1000);
  number('--wait <seconds>', 'how long to wait for an outcome', waitSeconds);
  number('--settle <seconds>', 'how long to watch for unexpected further events', settleSeconds);
  number('--retry-wait <seconds>', 'how long to wait for a repeated event', retryWaitSeconds);
  return command;
}

export function addProviderCommands(program: Command, { toAction }: CommandRunner): void {
  const provider = program
    .command('provider')
    .summary('check servers of the provider SPI')
    .description('Checks for developers of a server of the provider SPI for QR payments.');
  provider
    .command('secret <file>')
    .description('Creates a signing secret that your test server and the conformance check share.')
    .addHelpText('after', '\nExample:\n  $ switchyard provider secret signing-secret')
    .action(toAction((context, [file = '']) => createSecretFile(context, file)));
  addTestDataOptions(provider.command('conformance <url>'))
    .description(
      'Checks with test payments that a server conforms to the provider SPI. The command receives the events of the server. The exit code is 10 if a check fails.',
    )
    .requiredOption(
      '--secret-file <file>',
      'file with the signing secret that the server also uses',
    )
    .option('--ca-file <file>', 'certificate authority of the server, as PEM')
    .addOption(
      new Option('--listen <host:port>', 'address on which the command receives events')
        .argParser(parseHostAndPort)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1, any free port'),
    )
    .option(
      '--events-url <url>',
      'address at which the server reaches --listen, if it runs on another machine',
    )
    .option('--only <words>', 'run only the checks whose name, group or fault contains these words')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard provider conformance https://provider.example/spi --secret-file signing-secret --paid-amount 1000',
    )
    .action(
      toAction<Options>((context, [address = ''], options) => check(context, address, options)),
    );
}
