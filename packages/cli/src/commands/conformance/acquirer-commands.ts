/** Acquirers that speak the HTTP/JSON acquirer SPI: whether a server of theirs does all that it asks. */
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Kit, Runner } from '../../command-line/command-runner.ts';
import { wholeNumber } from '../../command-line/list-options.ts';
import { type Check, checks } from '../../conformance/acquirer/acquirer-checks.ts';
import { type Bench, createBench } from '../../conformance/acquirer/acquirer-test-client.ts';
import { makeKey, publicKeyOf, readKey } from '../../conformance/acquirer/signing-keys.ts';
import { type Result, report, resultOf } from '../../conformance/check-report.ts';
import { createTransport } from '../../http/https-transport.ts';
import { fail } from '../../runtime/command-error.ts';
import { readNamed } from '../../session/private-files.ts';

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

const leastAmount = 10;

/** What the server is shown where it asks who connects. */
function identityOf({ certFile, certKeyFile }: Options) {
  if (certFile === undefined && certKeyFile === undefined) return undefined;
  if (certFile === undefined || certKeyFile === undefined) {
    return fail('usage', '--cert-file and --cert-key-file go together.');
  }
  const [cert, key] = [readNamed(certFile), readNamed(certKeyFile)];
  if (!belongTogether(cert, key)) {
    fail('usage', `${certFile} and ${certKeyFile} are no certificate and its private key, as PEM.`);
  }
  return { cert, key };
}

function belongTogether(cert: string, key: string): boolean {
  try {
    return new X509Certificate(cert).checkPrivateKey(createPrivateKey(key));
  } catch {
    return false;
  }
}

function addressOf(text: string): URL {
  if (!URL.canParse(text)) fail('usage', `${text} is no address.`);
  return new URL(text);
}

function termsOf(options: Options) {
  if (options.amount < leastAmount) fail('usage', `The amount is at least ${leastAmount}.`);
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

/** Where nothing is, nothing is wrong with a server: one line says so, and no check. */
async function demandServer(bench: Bench, url: URL): Promise<void> {
  const { status } = await bench.ask('/v1/echo', {});
  if (status === 404) {
    fail('notFound', `There is no server of the acquirer SPI at ${url.href}: its /v1/echo is 404.`);
  }
}

async function conformance(kit: Kit, address: string, options: Options) {
  const url = addressOf(address);
  const named = checks.filter(({ group, name }) =>
    options.only === undefined ? true : `${group} ${name}`.includes(options.only),
  );
  const isLeftOut = ({ needsDecline }: Check) =>
    needsDecline === true && options.declinedAmount === undefined;
  const wanted = named.filter((check) => !isLeftOut(check));
  for (const { name } of named.filter(isLeftOut)) kit.screen.note(`Left out: ${name}`);
  if (wanted.length === 0) fail('usage', `No check is about “${options.only}”.`);
  const transport = createTransport({
    ca: options.caFile === undefined ? undefined : readNamed(options.caFile),
    identity: identityOf(options),
    timeoutMs: kit.globals.timeout * 1000,
  });
  try {
    const bench = createBench({
      transport,
      url,
      clock: kit.world.clock,
      terms: termsOf(options),
      key: readKey(options.key),
      acquirerKey: publicKeyOf(options.acquirerKey),
      acquirerKeyX: options.acquirerKey,
    });
    await demandServer(bench, url);
    const results: Result[] = [];
    // One after the other: each finds the acquirer as the one before has left it.
    for (const check of wanted) {
      results.push(await resultOf(kit, check, () => check.run(bench)));
    }
    const failed = results.filter(({ ok }) => !ok).length;
    const told = { url: url.href, passed: results.length - failed, failed, checks: results };
    kit.screen.result(told, () => report(kit, results));
    return failed === 0 ? undefined : 'notConforming';
  } finally {
    transport.close();
  }
}

function key(kit: Kit, file: string): Promise<undefined> {
  const { x, keyId } = makeKey(file);
  kit.screen.result({ x, keyId, file }, () => kit.screen.members({ x, keyId, file }));
  return Promise.resolve(undefined);
}

const formatted =
  (pattern: RegExp, what: string) =>
  (text: string): string => {
    if (pattern.test(text)) return text;
    throw new InvalidArgumentError(`It has to be ${what}.`);
  };

function termOptions(command: Command): Command {
  const option = (flags: string, said: string, pattern: RegExp, what: string, value: string) =>
    command.addOption(new Option(flags, said).argParser(formatted(pattern, what)).default(value));
  const digits = '1 to 15 letters and digits';
  option('--merchant <id>', 'the test merchant', /^[A-Za-z0-9]{1,15}$/, digits, '100000000000001');
  option('--terminal <id>', 'its terminal', /^[A-Z0-9]{8}$/, '8 letters and digits', 'TERM0001');
  option('--institution <id>', 'the platform', /^[0-9]{1,11}$/, '1 to 11 digits', '100001');
  option('--mcc <code>', 'the merchant category code', /^[0-9]{4}$/, '4 digits', '5411');
  option('--currency <code>', 'the currency', /^[A-Z]{3}$/, 'a code of ISO 4217', 'EUR');
  option('--card <number>', 'the test card', /^[0-9]{12,19}$/, 'a number', '4111111111111111');
  option('--expiry <yymm>', 'its expiry', /^[0-9]{4}$/, 'YYMM', '3012');
  return command
    .addOption(
      new Option('--amount <minor>', 'an amount that is approved, as are its parts')
        .argParser(wholeNumber)
        .default(1000),
    )
    .addOption(
      new Option('--declined-amount <minor>', 'an amount that is declined').argParser(wholeNumber),
    );
}

export function addAcquirerCommands(program: Command, { act }: Runner): void {
  const acquirer = program
    .command('acquirer')
    .summary('acquirers that speak HTTP and JSON')
    .description('For those who write a server of the HTTP/JSON acquirer SPI.');
  acquirer
    .command('key <file>')
    .description('Makes the key that stands in for the platform in a conformance run.')
    .addHelpText('after', '\nExample:\n  $ switchyard acquirer key platform.pem')
    .action(act((kit, [file = '']) => key(kit, file)));
  termOptions(acquirer.command('conformance <url>'))
    .description(
      'Checks that a server does what the acquirer SPI asks, with test payments. Ends with 10 where it does not.',
    )
    .requiredOption('--key <file>', 'the private key that the server takes for the platform’s')
    .requiredOption('--acquirer-key <x>', 'the public key of the server')
    .option('--ca-file <file>', 'the certificate authority of the server, as PEM')
    .option('--cert-file <file>', 'the certificate that the server is shown, as PEM')
    .option('--cert-key-file <file>', 'the private key of that certificate, as PEM')
    .option('--only <words>', 'the checks whose name or group holds these words')
    .addHelpText(
      'after',
      '\nExample:\n  $ switchyard acquirer conformance https://acquirer.example/switchyard --key platform.pem --acquirer-key 11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo',
    )
    .action(act<Options>((kit, [address = ''], options) => conformance(kit, address, options)));
}
