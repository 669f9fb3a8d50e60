/** `switchyard terminal`: a payment terminal without hardware. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defined } from '@switchyard/contract';
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ExitName } from '../exit-codes.ts';
import { fail } from '../faults.ts';
import type { Kit, Runner } from '../kit.ts';
import { faultKeys } from '../screen/terminal-picture.ts';
import { createTerminalWindow, type TerminalWindow } from '../screen/terminal-window.ts';
import { readNamed } from '../session/files.ts';
import { demoFolder, demoOption, readDemo, terminalNamed } from './demo-facts.ts';

type Options = {
  readonly demo?: string;
  readonly tsn?: string;
  readonly card: string;
  readonly listen?: Place;
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

type Place = { readonly host: string; readonly port: number };
type Simulators = typeof import('@switchyard/simulators');
type Started = Awaited<ReturnType<Simulators['startTerminal']>>;

/** Not the address of the platform, which has the same port. */
const usual: Place = { host: '127.0.0.2', port: 8443 };

function demoFacts(folder: string, wanted: string | undefined): Facts {
  const { devices, text, members } = readDemo(folder);
  const device = terminalNamed(devices, wanted);
  if (device === undefined) {
    const names = devices.map(({ tsn }) => tsn).join(', ');
    return fail('notFound', `The demo has no terminal “${wanted ?? ''}”. It has: ${names}.`);
  }
  const { caFile } = members;
  return {
    tsn: device.tsn,
    certFile: text('certFile', device),
    keyFile: text('keyFile', device),
    keys: { baseDerivationKey: text('baseDerivationKey', device), ksn: text('ksn', device) },
    baseUrl: text('baseUrl'),
    deviceAuthUrl: text('deviceAuthUrl'),
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

type Switch = { readonly remark: string; isOn: boolean; set(isOn: boolean): void };

function listenToKeys(
  { world }: Kit,
  { terminal }: Started,
  { window, cards, stop }: { window: TerminalWindow; cards: readonly string[]; stop: () => void },
): () => void {
  const { stdin } = world;
  if (!window.isDrawn || stdin.setRawMode === undefined) return () => undefined;
  const switches: Readonly<Record<string, Switch>> = {
    P: { remark: 'no paper', isOn: false, set: (isOut) => terminal.setPaper(!isOut) },
    M: { remark: 'maintenance', isOn: false, set: terminal.setMaintenance },
  };
  const keys: Readonly<Record<string, () => void>> = {
    R: () => void terminal.reboot(),
    V: window.turnReceipt,
    Q: stop,
    '\u0003': stop,
  };
  const press = (key: string) => {
    keys[key]?.();
    const turned = switches[key];
    if (turned !== undefined) {
      turned.isOn = !turned.isOn;
      turned.set(turned.isOn);
      window.remark(turned.remark, turned.isOn);
    }
    const [, fault] = faultKeys.find(([of]) => of === key) ?? [];
    if (fault !== undefined) {
      terminal.setFault(fault);
      window.fault(fault);
    }
    const card = cards[key.charCodeAt(0) - 'a'.charCodeAt(0)];
    if (card !== undefined) {
      terminal.setCard(card);
      window.card(card);
    }
  };
  // Whoever types fast is heard by several keys at once.
  const onKey = (bytes: Buffer) => {
    for (const key of bytes.toString()) press(key);
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
  const folder = demoFolder(world, options.demo);
  const facts = demoFacts(folder, options.tsn);
  const { startTerminal, testCards } = await loadSimulators();
  const cards = testCards.map(({ name }) => name);
  if (!cards.includes(options.card)) {
    return fail('usage', `There is no card “${options.card}”. There are: ${cards.join(', ')}.`);
  }
  const dataDir = resolve(options.data ?? join(folder, 'terminals', facts.tsn));
  const window = createTerminalWindow(kit, { tsn: facts.tsn, cards, card: options.card });
  const start = (listen: Place | undefined) =>
    startTerminal({
      tsn: facts.tsn,
      dataDir,
      keys: facts.keys,
      cloud: options.cloud,
      listen,
      baseUrl: facts.baseUrl,
      deviceAuthUrl: facts.deviceAuthUrl,
      cert: readNamed(facts.certFile),
      key: readFileSync(facts.keyFile, 'utf8'),
      ca: facts.caFile === undefined ? undefined : readNamed(facts.caFile),
      sharedKey: options.keyFile === undefined ? undefined : sharedKeyIn(options.keyFile),
      loginRequired: options.login ?? false,
      now: () => world.clock.now(),
      onEvent: window.tell,
      onCloud: window.cloud,
    });
  const started = await (options.local ? listening(start, options.listen) : start(undefined));
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
      ...defined({ url: local?.url, certFile: local?.certFile }),
    });
    if (world.stopping.aborted) finish();
  });
  try {
    await started.stop();
  } finally {
    window.close();
  }
  if (!screen.json) screen.note('The terminal has stopped.');
  return undefined;
}

/** Where it was told to, and nowhere else; left out, where it can. */
async function listening(
  start: (listen: Place) => Promise<Started>,
  wanted: Place | undefined,
): Promise<Started> {
  const { host, port } = wanted ?? usual;
  try {
    return await start({ host, port });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EADDRINUSE', 'EADDRNOTAVAIL'].includes(code)) throw error;
    // Not every system has 127.0.0.2, and another terminal may have it.
    if (wanted === undefined) return start({ host: '127.0.0.1', port: 0 });
    if (code === 'EADDRINUSE') return fail('usage', `${host}:${port} is taken.`);
    return fail('usage', `This machine is not ${host}.`);
  }
}

function place(text: string): Place {
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
    .addOption(demoOption())
    .option('--tsn <tsn>', 'which terminal, by its name or serial number; left out, the first')
    .addOption(new Option('--card <name>', 'the card that is shown').default('mastercard'))
    .addOption(
      new Option(
        '--listen <host:port>',
        'where it listens for tills of the shop; left out, 127.0.0.2:8443, or a free port',
      ).argParser(place),
    )
    .option('--no-local', 'does not listen')
    .option('--no-cloud', 'does not connect to the Cloud Connector')
    .option('--key-file <file>', 'takes protected messages alone: identifier:version:pass phrase')
    .option('--login', 'services need a login first')
    .option('--data <folder>', 'where it keeps what it remembers; left out, beside demo.json')
    .addHelpText('after', '\nExample:\n  $ switchyard terminal simulate --tsn 10000001')
    .action(act<Options>((kit, _args, options) => simulate(kit, options), { finishes: true }));
}
