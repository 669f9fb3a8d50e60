/** `switchyard pos sale`: a point of sale in one line, to try a terminal with. */
import { join, resolve } from 'node:path';
import {
  type Answer,
  authorizedAmount,
  createPosClient,
  createTerminal,
  decimalText,
  fileServiceStore,
  minorUnitsOf,
  PosError,
  type PosErrorKind,
  type TerminalTransport,
} from '@switchyard/sdk-pos';
import { type Command, Option } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { CommandFault, fail } from '../faults.ts';
import type { Kit, Runner } from '../kit.ts';
import { readNamed } from '../session/files.ts';

type Options = {
  readonly demo: string;
  readonly tsn?: string;
  readonly currency: string;
  readonly saleId: string;
  readonly reference?: string;
  readonly local?: string;
  readonly localCa?: string;
};

type Members = Readonly<Record<string, unknown>>;

const waitSeconds = 10;
const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

function demoFacts(folder: string, wanted: string | undefined) {
  const file = resolve(folder, 'demo.json');
  let facts: Members;
  try {
    facts = membersOf(JSON.parse(readNamed(file)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('usage', `${file} is no JSON.`);
  }
  const text = (members: Members, name: string): string => {
    const value = members[name];
    return typeof value === 'string' ? value : fail('usage', `${file} does not tell ${name}.`);
  };
  const pos = membersOf(membersOf(facts['applications'])['pos']);
  const listed = facts['devices'];
  const inStore = (Array.isArray(listed) ? listed : [])
    .map(membersOf)
    .filter(({ storeId }) => storeId === pos['storeId'])
    .map((device) => text(device, 'tsn'));
  const tsn = wanted ?? inStore[0] ?? fail('notFound', `${file} has no terminal of this store.`);
  return {
    tsn: inStore.find((each) => each.endsWith(`-${tsn}`)) ?? tsn,
    baseUrl: text(facts, 'baseUrl'),
    tokenUrl: `${text(facts, 'authUrl')}/oauth2/v1/${text(facts, 'userDomainId')}/token`,
    clientId: text(pos, 'clientId'),
    clientSecret: text(pos, 'clientSecret'),
    ca: readNamed(text(facts, 'caFile')),
  };
}

const exits: Readonly<Record<PosErrorKind, ExitName>> = {
  Transport: 'unreachable',
  Relay: 'refused',
  Terminal: 'refused',
  Invalid: 'usage',
  Aborted: 'interrupted',
};

function told(error: unknown): never {
  if (!(error instanceof PosError)) throw error;
  const { kind, code, outcome, message, retryAfterMs, serviceId } = error;
  const hint =
    outcome === 'Unknown'
      ? 'Money may have moved: run it again, and it asks first.'
      : 'No money moved.';
  throw new CommandFault(exits[kind], `${kind}: ${message}`, {
    more: [hint],
    facts: { kind, code, outcome, retryAfterMs, serviceId },
  });
}

function minorUnits(text: string, currency: string): number {
  try {
    return minorUnitsOf(text, currency);
  } catch {
    return fail('usage', `${text} is no amount of ${currency}.`);
  }
}

function tellAnswer(
  { screen }: Kit,
  answer: Answer<'Payment'>,
  currency: string,
): ExitName | undefined {
  const { result, condition, advice, serviceId, message } = answer;
  const paid = authorizedAmount(message, currency);
  const transactionId = message.body.POIData?.POITransactionID.TransactionID;
  const facts = {
    result,
    condition,
    advice,
    serviceId,
    transactionId,
    authorizedAmount: paid,
    currency,
  };
  const amount = paid === undefined ? '' : ` ${decimalText(paid, currency)} ${currency}`;
  screen.result(facts, () =>
    result === 'Failure'
      ? `Not paid: ${condition ?? 'Failure'}.\n`
      : `${result === 'Partial' ? 'Paid in part' : 'Paid'}${amount}.\n`,
  );
  return result === 'Failure' ? 'refused' : undefined;
}

async function sale(kit: Kit, wanted: string, options: Options): Promise<ExitName | undefined> {
  const { world, screen, globals } = kit;
  const { currency, saleId } = options;
  const amount = minorUnits(wanted, currency);
  const facts = demoFacts(options.demo, options.tsn);
  const { tsn, baseUrl, tokenUrl, clientId, clientSecret, ca } = facts;
  const client = createPosClient({
    ...{ baseUrl, tls: { ca }, timeoutMs: globals.timeout * 1000 },
    credentials: { tokenUrl, clientId, clientSecret },
  });
  const cloud = { client, tsn, waitSeconds, takeOver: true };
  const localCa = options.localCa === undefined ? {} : { ca: readNamed(options.localCa) };
  const transport: TerminalTransport =
    options.local === undefined
      ? { kind: 'cloud', ...cloud }
      : { kind: 'local', url: options.local, tls: localCa };
  const store = fileServiceStore(join(resolve(options.demo), 'tills', `${saleId}-${tsn}.jsonl`));
  const terminal = createTerminal({
    ...{ saleId, poiId: tsn, transport, store },
    onEvent: ({ body }) => screen.note(`The terminal tells: ${body.EventToNotify}.`),
  });
  try {
    for (const { kept, outcome } of await terminal.open()) {
      screen.note(`${kept.header.MessageCategory} ${kept.serviceId} from before: ${outcome}.`);
    }
    const transactionId = options.reference ?? `sale-${world.clock.now()}`;
    screen.note(`${decimalText(amount, currency)} ${currency} at ${tsn}: waiting for the card.`);
    const order = { amount, currency, transactionId };
    const answer = await terminal.sale(order, { signal: world.stopping });
    return tellAnswer(kit, answer, currency);
  } catch (error) {
    return told(error);
  } finally {
    await terminal.close();
    client.close();
    store.close();
  }
}

export function addSaleCommand(pos: Command, { act }: Runner): void {
  pos
    .command('sale')
    .description('Has an amount paid at a terminal of the demo. Ctrl+C aborts it at the terminal.')
    .argument('<amount>', 'in major units, such as 12.50')
    .addOption(
      new Option('--demo <folder>', 'where the demo has its demo.json').default('.switchyard'),
    )
    .option('--tsn <tsn>', 'which terminal, by its name or serial number; left out, the first')
    .addOption(new Option('--currency <code>', 'of the amount').default('EUR'))
    .addOption(new Option('--sale-id <name>', 'the name of the till').default('till-1'))
    .option('--reference <text>', 'what the till calls the sale')
    .option('--local <url>', 'by the local network, such as https://127.0.0.2:8443/nexo')
    .option('--local-ca <file>', 'the certificate that the local terminal is believed by')
    .addHelpText('after', '\nExample:\n  $ switchyard pos sale 12.50 --tsn 10000001')
    .action(
      act<Options>((kit, [amount = ''], options) => sale(kit, amount, options), { finishes: true }),
    );
}
