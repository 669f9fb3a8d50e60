/** `switchyard terminal`: a payment terminal without hardware. */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TerminalFault } from '@switchyard/simulators';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { fail } from '../faults.ts';
import type { Kit, Runner } from '../kit.ts';
import { createTerminalWindow, type TerminalWindow } from '../screen/terminal-window.ts';
import { readNamed } from '../session/files.ts';

type Options = {
  readonly demo: string;
  readonly tsn?: string;
  readonly card: string;
  readonly listen: { readonly host: string; readonly port: number };
  readonly local: boolean;
  readonly cloud: boolean;
  readonly keyFile?: string;
  readonly login?: boolean;
  readonly data?: string;
};

type Facts = {
  readonly tsn: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly keys: { readonly baseDerivationKey: string; readonly ksn: string };
  readonly baseUrl: string;
  readonly deviceAuthUrl: string;
  readonly caFile: string | undefined;
};

type Members = Readonly<Record<string, unknown>>;
type Simulators = typeof import('@switchyard/simulators');

const usualPort = 8443;
/** Not the address of the platform, which has the same port. */
const usualHost = '127.0.0.2';

const membersOf = (value: unknown): Members =>
  typeof value === 'object' && value !== null ? (value as Members) : {};

function textOf(members: Members, name: string, file: string): string {
  const value = members[name];
  return typeof value === 'string' ? value : fail('usage', `${file} does not tell ${name}.`);
}

function demoFacts(folder: string, wanted: string | undefined): Facts {
  const file = resolve(folder, 'demo.json');
  let facts: Members;
  try {
    facts = membersOf(JSON.parse(readNamed(file)));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return fail('usage', `${file} is no JSON.`);
  }
  const listed = facts['devices'];
  const devices = (Array.isArray(listed) ? listed : []).map(membersOf);
  const device = devices.find(
    ({ tsn }) => wanted === undefined || tsn === wanted || String(tsn).endsWith(`-${wanted}`),
  );
  if (device === undefined) {
    const names = devices.map(({ tsn }) => String(tsn)).join(', ');
    return fail('notFound', `${file} has no terminal “${wanted ?? ''}”. It has: ${names}.`);
  }
  const caFile = facts['caFile'];
  return {
    tsn: textOf(device, 'tsn', file),
    certFile: textOf(device, 'certFile', file),
    keyFile: textOf(device, 'keyFile', file),
    keys: {
      baseDerivationKey: textOf(device, 'baseDerivationKey', file),
      ksn: textOf(device, 'ksn', file),
    },
    baseUrl: textOf(facts, 'baseUrl', file),
    deviceAuthUrl: textOf(facts, 'deviceAuthUrl', file),
    caFile: typeof caFile === 'string' ? caFile : undefined,
  };
}

/** `identifier:version:pass phrase`, in a file so that no list of processes shows it. */
function sharedKeyIn(file: string) {
  const [, identifier = '', version = '', passphrase = ''] =
    /^([^:]+):(\d{1,9}):(.+)$/.exec(readNamed(file).trim()) ?? [];
  if (passphrase !== '') return { identifier, version: Number(version), passphrase };
  return fail('usage', `${file} does not hold identifier:version:pass phrase.`);
}

/** The packed command comes without it: it is for those who have the repository. */
async function loadSimulators(): Promise<Simulators> {
  try {
    return await import('@switchyard/simulators');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return fail(
      'usage',
      'The simulated terminal is not in this package: run it in the repository.',
    );
  }
}

/** What keys do, besides choosing a card by its letter. */
const keyFaults: Readonly<Record<string, TerminalFault>> = {
  '1': 'DropBefore',
  '2': 'DropAfter',
  '3': 'Delay',
  '4': 'Duplicate',
  '5': 'Garbage',
  '6': 'Reboot',
  '7': 'Unreachable',
};

function listenToKeys(
  { world }: Kit,
  { terminal }: Awaited<ReturnType<Simulators['startTerminal']>>,
  { window, cards, stop }: { window: TerminalWindow; cards: readonly string[]; stop: () => void },
): () => void {
  const { stdin } = world;
  if (!window.isDrawn || stdin.setRawMode === undefined) return () => undefined;
  const switches = { paper: true, maintenance: false };
  const keys: Readonly<Record<string, () => void>> = {
    P: () => {
      switches.paper = !switches.paper;
      terminal.setPaper(switches.paper);
      window.note(switches.paper ? 'paper' : 'no paper');
    },
    M: () => {
      switches.maintenance = !switches.maintenance;
      terminal.setMaintenance(switches.maintenance);
    },
    R: () => void terminal.reboot(),
    Q: stop,
    '\u0003': stop,
  };
  const onKey = (bytes: Buffer) => {
    const key = bytes.toString();
    keys[key]?.();
    const fault = keyFaults[key];
    if (fault !== undefined) {
      terminal.setFault(fault);
      window.note(`next: ${fault}`);
    }
    const card = cards[key.charCodeAt(0) - 'a'.charCodeAt(0)];
    if (key.length === 1 && card !== undefined) {
      terminal.setCard(card);
      window.card(card);
    }
  };
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  return () => {
    stdin.off('data', onKey);
    stdin.setRawMode?.(false);
    stdin.pause();
  };
}

async function simulate(kit: Kit, options: Options): Promise<ExitName | undefined> {
  const { world, screen } = kit;
  const facts = demoFacts(options.demo, options.tsn);
  const { startTerminal, testCards } = await loadSimulators();
  const cards = testCards.map(({ name }) => name);
  if (!cards.includes(options.card)) {
    return fail('usage', `There is no card “${options.card}”. There are: ${cards.join(', ')}.`);
  }
  const dataDir = resolve(options.data ?? join(options.demo, 'terminals', facts.tsn));
  const window = createTerminalWindow(kit, { tsn: facts.tsn, cards, card: options.card });
  const started = await startTerminal({
    ...{ tsn: facts.tsn, dataDir, keys: facts.keys, cloud: options.cloud },
    ...{ baseUrl: facts.baseUrl, deviceAuthUrl: facts.deviceAuthUrl },
    cert: readNamed(facts.certFile),
    key: readFileSync(facts.keyFile, 'utf8'),
    ca: facts.caFile === undefined ? undefined : readNamed(facts.caFile),
    listen: options.local ? options.listen : undefined,
    sharedKey: options.keyFile === undefined ? undefined : sharedKeyIn(options.keyFile),
    loginRequired: options.login ?? false,
    now: () => world.clock.now(),
    tell: window.tell,
    onCloud: window.cloud,
  }).catch((error: NodeJS.ErrnoException) => {
    const { host, port } = options.listen;
    if (error.code === 'EADDRINUSE') return fail('usage', `${host}:${port} is taken.`);
    if (error.code === 'EADDRNOTAVAIL') return fail('usage', `This machine is not ${host}.`);
    throw error;
  });
  const { terminal, local } = started;
  terminal.setCard(options.card);
  await new Promise<void>((end) => {
    const stopKeys = listenToKeys(kit, started, { window, cards, stop: finish });
    function finish(): void {
      stopKeys();
      end();
    }
    world.stopping.addEventListener('abort', finish, { once: true });
    window.open({
      tsn: facts.tsn,
      ...(local === undefined ? {} : { url: local.url, certFile: local.certFile }),
    });
    if (world.stopping.aborted) finish();
  });
  await started.stop();
  window.close();
  if (!screen.json) screen.note('The terminal has stopped.');
  return undefined;
}

function place(text: string): { host: string; port: number } {
  const [, host = '', port = ''] = /^(\[[0-9a-f:]+\]|[^:]*):(\d{1,5})$/i.exec(text) ?? [];
  if (host !== '' && Number(port) < 65_536) {
    return { host: host.replace(/^\[|\]$/g, ''), port: Number(port) };
  }
  throw new InvalidArgumentError('It has to be a host and a port, such as 127.0.0.2:8443.');
}

export function addTerminalCommands(program: Command, { act }: Runner): void {
  const terminal = program
    .command('terminal')
    .summary('a payment terminal without hardware')
    .description('For those who write points of sale.');
  terminal
    .command('simulate')
    .description(
      'Runs a terminal of the demo: tills reach it over the Cloud Connector and by local HTTPS, and it pays at the platform.',
    )
    .addOption(
      new Option('--demo <folder>', 'where the demo has its demo.json').default('.switchyard'),
    )
    .option('--tsn <tsn>', 'which terminal, by its name or serial number; left out, the first')
    .addOption(new Option('--card <name>', 'the card that is shown').default('mastercard'))
    .addOption(
      new Option('--listen <host:port>', 'where it listens for tills of the shop')
        .argParser(place)
        .default({ host: usualHost, port: usualPort }, `${usualHost}:${usualPort}`),
    )
    .option('--no-local', 'does not listen')
    .option('--no-cloud', 'does not connect to the Cloud Connector')
    .option('--key-file <file>', 'takes protected messages alone: identifier:version:pass phrase')
    .option('--login', 'services need a login first')
    .option('--data <folder>', 'where it keeps what it remembers; left out, beside demo.json')
    .addHelpText('after', '\nExample:\n  $ switchyard terminal simulate --tsn 10000001')
    .action(act<Options>((kit, _args, options) => simulate(kit, options), { finishes: true }));
}
