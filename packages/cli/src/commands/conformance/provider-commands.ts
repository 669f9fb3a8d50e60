/** `switchyard provider`: for those who write a server of the provider SPI. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { providerAnswerMs, providerPaths } from '@switchyard/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { wholeNumber } from '../../command-line/list-options.ts';
import { type Result, report, resultOf } from '../../conformance/check-report.ts';
import { type Listener, startListener } from '../../conformance/provider/event-receiver.ts';
import type { Need, ProviderCheck } from '../../conformance/provider/provider-check.ts';
import { providerChecks } from '../../conformance/provider/provider-checks.ts';
import {
  createProviderBench,
  type ProviderBench,
  type Terms,
} from '../../conformance/provider/provider-test-client.ts';
import { createTransport } from '../../http/https-transport.ts';
import { fail } from '../../runtime/command-error.ts';
import { readNamed } from '../../session/private-files.ts';

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
/** Each amount is halved, and more and less than it is asked for. */
const leastAmount = 10;
const waitSeconds = 20;
const settleSeconds = 3;
const retryWaitSeconds = 90;
const usualAmount = 1000;

const optionOf: Readonly<Record<Need, string>> = {
  paidAmount: '--paid-amount',
  declinedAmount: '--declined-amount',
  scanned: '--scanned',
};

function addressOf(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    return fail('usage', `${text} is no address.`);
  }
  return url;
}

function secretIn(file: string): Buffer {
  const [, text = ''] = secretPattern.exec(readNamed(file).trim()) ?? [];
  const key = Buffer.from(text, 'base64');
  if (key.length >= keyBytesMin && key.length <= keyBytesMax) return key;
  return fail('usage', `${file} holds no secret: one begins with whsec_.`);
}

function termsOf(options: Options): Terms {
  const { amount, pendingAmount = amount, paidAmount, declinedAmount, scanned } = options;
  for (const each of [amount, pendingAmount, paidAmount, declinedAmount]) {
    if (each !== undefined && each < leastAmount) {
      fail('usage', `An amount is at least ${leastAmount}.`);
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

function wantedOf(kit: Kit, { only }: Options, terms: Terms): readonly ProviderCheck[] {
  const named = providerChecks.filter(({ group, fault, name }) =>
    only === undefined ? true : `${group} ${fault} ${name}`.includes(only),
  );
  if (named.length === 0) fail('usage', `No check is about “${only}”.`);
  const isLeftOut = ({ needs }: ProviderCheck) => needs !== undefined && terms[needs] === undefined;
  const leftOut = named.filter(isLeftOut);
  const lacking = [...new Set(leftOut.map(({ needs }) => needs as Need))];
  const wanted = named.filter((check) => !isLeftOut(check));
  if (wanted.length === 0) {
    const options = lacking.map((need) => optionOf[need]).join(', ');
    return fail('usage', `Without ${options} there is nothing to check.`);
  }
  for (const need of lacking) {
    const without = leftOut.filter(({ needs }) => needs === need);
    const groups = [...new Set(without.map(({ group }) => group))].join(', ');
    const counted = without.length === 1 ? '1 check' : `${without.length} checks`;
    kit.screen.note(`Left out without ${optionOf[need]}: ${counted} of ${groups}`);
  }
  return wanted;
}

/** Where nothing is, nothing is wrong with a server: one line says so, and no check. */
async function demandServer(bench: ProviderBench, url: URL): Promise<void> {
  const { status } = await bench.get(providerPaths.health);
  if (status !== 404) return;
  const { status: other } = await bench.post(providerPaths.payments, bench.payment());
  if (other === 404 || other === 405) {
    fail('notFound', `There is no server of the provider SPI at ${url.href}.`);
  }
}

async function listening(kit: Kit, { listen, eventsUrl }: Options): Promise<Listener> {
  const publicUrl = eventsUrl === undefined ? undefined : addressOf(eventsUrl).href;
  return startListener({ ...listen, publicUrl, clock: kit.world.clock });
}

async function check(kit: Kit, address: string, options: Options) {
  const url = addressOf(address);
  const terms = termsOf(options);
  const key = secretIn(options.secretFile);
  const wanted = wantedOf(kit, options, terms);
  const transport = createTransport({
    ca: options.caFile === undefined ? undefined : readNamed(options.caFile),
    timeoutMs: kit.globals.timeout * 1000,
  });
  const listener = await listening(kit, options);
  try {
    const { clock } = kit.world;
    const bench = createProviderBench({ transport, url, key, clock, terms, listener });
    await demandServer(bench, url);
    const results: Result[] = [];
    // One after the other: what a provider does at once is asked for where it is looked at.
    for (const each of wanted) results.push(await resultOf(kit, each, () => each.run(bench)));
    const failed = results.filter(({ ok }) => !ok).length;
    const told = { url: url.href, passed: results.length - failed, failed, checks: results };
    kit.screen.result(told, () => report(kit, results));
    return failed === 0 ? undefined : 'notConforming';
  } finally {
    transport.close();
    await listener.close();
  }
}

/** A secret for a test server, in a file that is not there yet. */
function secret(kit: Kit, file: string): Promise<undefined> {
  const text = `whsec_${randomBytes(keyBytes).toString('base64')}`;
  try {
    writeFileSync(file, `${text}\n`, { mode: ownerOnly, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    fail('usage', code === 'EEXIST' ? `${file} is there already.` : `${file}: ${code}.`);
  }
  kit.screen.result({ file }, () => kit.screen.members({ file }));
  return Promise.resolve(undefined);
}

function place(text: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(\[[0-9a-f:]+\]|[^:]*):(\d{1,5})$/i.exec(text) ?? [];
  if (host !== '' && Number(port) < 65_536) {
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  }
  throw new InvalidArgumentError('It has to be a host and a port, such as 127.0.0.1:8090.');
}

const formatted =
  (pattern: RegExp, what: string) =>
  (text: string): string => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`It has to be ${what}.`);
  };

function termOptions(command: Command): Command {
  const number = (flags: string, said: string, value?: number) => {
    const option = new Option(flags, said).argParser(wholeNumber);
    command.addOption(value === undefined ? option : option.default(value));
  };
  const text = (flags: string, said: string, pattern: RegExp, what: string, value: string) =>
    command.addOption(new Option(flags, said).argParser(formatted(pattern, what)).default(value));
  const code = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/;
  text(
    '--payment-type <code>',
    'one of the payment types of your service',
    code,
    'a code',
    'demopay',
  );
  text('--currency <code>', 'the currency', /^[A-Z]{3}$/, 'a code of ISO 4217', 'EUR');
  number('--amount <minor>', 'an amount that is taken', usualAmount);
  number('--pending-amount <minor>', 'one that waits for the consumer; left out: --amount');
  number('--paid-amount <minor>', 'one that your test server pays by itself');
  number('--declined-amount <minor>', 'one that it declines');
  command.addOption(
    new Option('--scanned <code>', 'a code as a consumer shows it').argParser(
      formatted(/^.{1,1024}$/, '1 to 1024 characters'),
    ),
  );
  number('--answer-within <seconds>', 'how long an answer may take', providerAnswerMs / 1000);
  number('--wait <seconds>', 'how long an outcome is waited for', waitSeconds);
  number('--settle <seconds>', 'how long it is looked whether more comes', settleSeconds);
  number('--retry-wait <seconds>', 'how long a repeated event is waited for', retryWaitSeconds);
  return command;
}

export function addProviderCommands(program: Command, { act }: Runner): void {
  const provider = program
    .command('provider')
    .summary('providers of QR payments')
    .description('For those who write a server of the provider SPI.');
  provider
    .command('secret <file>')
    .description('Makes a secret that your test server and a run of checks share.')
    .addHelpText('after', '\nExample:\n  $ switchyard provider secret signing-secret')
    .action(act((kit, [file = '']) => secret(kit, file)));
  termOptions(provider.command('check <url>'))
    .description(
      'Checks that a server does what the provider SPI asks, with test payments whose events come to this command. Ends with 10 where it does not.',
    )
    .requiredOption('--secret-file <file>', 'the secret that the server takes for the platform’s')
    .option('--ca-file <file>', 'the certificate authority of the server, as PEM')
    .addOption(
      new Option('--listen <host:port>', 'where events are taken')
        .argParser(place)
        .default({ host: '127.0.0.1', port: 0 }, '127.0.0.1, any free port'),
    )
    .option('--events-url <url>', 'how the server reaches that, where it is another machine')
    .option('--only <words>', 'the checks whose name, group or fault holds these words')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard provider check https://provider.example/spi --secret-file signing-secret --paid-amount 1000',
    )
    .action(act<Options>((kit, [address = ''], options) => check(kit, address, options)));
}
