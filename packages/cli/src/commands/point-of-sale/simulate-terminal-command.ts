/** `switchyard terminal simulate`: a simulated payment terminal of the demo. */

import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { defined } from '@switchyard/contract';
import type { CommandGroup } from '../../command-line/command-definition.ts';
import { option } from '../../command-line/command-option.ts';
import type { CommandContext } from '../../command-line/command-runner.ts';
import {
  demoFolder,
  demoOption,
  findTerminal,
  readDemoConfig,
  tsnOption,
} from '../../command-line/demo-config.ts';
import { type HostAndPort, parseHostAndPort } from '../../command-line/list-options.ts';
import { fail } from '../../runtime/command-error.ts';
import type { ExitName } from '../../runtime/exit-codes.ts';
import { readInputFile } from '../../session/private-files.ts';
import { faultKeys } from './terminal-screen-layout.ts';
import { createTerminalWindow, type SimulatedTerminalWindow } from './terminal-window.ts';

type Options = {
  readonly demo?: string;
  readonly tsn?: string;
  readonly card: string;
  readonly listen?: HostAndPort;
  readonly local: boolean;
  readonly cloud: boolean;
  readonly keyFile?: string;
  readonly login?: boolean;
  readonly data?: string;
};

type TerminalConfig = {
  readonly tsn: string;
  readonly certFile: string;
  readonly keyFile: string;
  readonly keys: { readonly baseDerivationKey: string; readonly ksn: string };
  readonly baseUrl: string;
  readonly deviceAuthUrl: string;
  readonly caFile: string | undefined;
};

type Simulators = typeof import('@switchyard/simulators');
type RunningTerminal = Awaited<ReturnType<Simulators['startTerminal']>>;

/** Another loopback address than the platform, which uses the same port. */
const defaultAddress: HostAndPort = { host: '127.0.0.2', port: 8443 };

function readTerminalConfig(folder: string, requested: string | undefined): TerminalConfig {
  const { devices, text, members } = readDemoConfig(folder);
  const device = findTerminal(devices, requested);
  if (device === undefined) {
    const tsns = devices.map(({ tsn }) => tsn).join(', ');
    return fail('notFound', `The demo has no terminal “${requested ?? ''}”. It has: ${tsns}.`);
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

/** `identifier:version:pass phrase`, in a file because process lists show arguments. */
function readSharedKey(file: string) {
  const [, identifier = '', version = '', passphrase = ''] =
    /^([^:]+):(\d{1,9}):(.+)$/.exec(readInputFile(file).trim()) ?? [];
  if (passphrase !== '') return { identifier, version: Number(version), passphrase };
  return fail('usage', `${file} must contain one line: identifier:version:pass phrase`);
}

/** The published package does not contain the simulators. */
async function loadSimulators(): Promise<Simulators> {
  try {
    return await import('@switchyard/simulators');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return fail(
      'usage',
      'The simulated terminal is not part of this package. Run the command in a clone of the repository.',
    );
  }
}

type Toggle = { readonly remark: string; isOn: boolean; set(isOn: boolean): void };

function handleKeys(
  { environment }: CommandContext,
  { terminal }: RunningTerminal,
  {
    window,
    cards,
    stop,
  }: { window: SimulatedTerminalWindow; cards: readonly string[]; stop: () => void },
): () => void {
  const { stdin } = environment;
  if (!window.isDrawn || stdin.setRawMode === undefined) return () => undefined;
  const toggles: Readonly<Record<string, Toggle>> = {
    P: { remark: 'no paper', isOn: false, set: (isOut) => terminal.setPaper(!isOut) },
    M: { remark: 'maintenance', isOn: false, set: terminal.setMaintenance },
  };
  const keys: Readonly<Record<string, () => void>> = {
    R: () => void terminal.reboot(),
    V: window.toggleReceipt,
    Q: stop,
    '\u0003': stop,
  };
  const handleKey = (key: string) => {
    keys[key]?.();
    const toggle = toggles[key];
    if (toggle !== undefined) {
      toggle.isOn = !toggle.isOn;
      toggle.set(toggle.isOn);
      window.remark(toggle.remark, toggle.isOn);
    }
    const [, fault] = faultKeys.find(([faultKey]) => faultKey === key) ?? [];
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
  // One chunk can contain several keys.
  const onKey = (bytes: Buffer) => {
    for (const key of bytes.toString()) handleKey(key);
  };
  stdin.setRawMode(true);
  stdin.on('data', onKey);
  return () => {
    stdin.off('data', onKey);
    stdin.setRawMode?.(false);
    stdin.pause();
  };
}

async function simulate(
  context: CommandContext,
  _args: string[],
  options: Options,
): Promise<ExitName | undefined> {
  const { environment, output } = context;
  const folder = demoFolder(environment, options.demo);
  const config = readTerminalConfig(folder, options.tsn);
  const { startTerminal, testCards } = await loadSimulators();
  const cards = testCards.map(({ name }) => name);
  if (!cards.includes(options.card)) {
    return fail(
      'usage',
      `There is no test card “${options.card}”. There are: ${cards.join(', ')}.`,
    );
  }
  const dataDir = resolve(options.data ?? join(folder, 'terminals', config.tsn));
  const window = createTerminalWindow(context, { tsn: config.tsn, cards, card: options.card });
  const start = (listen: HostAndPort | undefined) =>
    startTerminal({
      tsn: config.tsn,
      dataDir,
      keys: config.keys,
      cloud: options.cloud,
      listen,
      baseUrl: config.baseUrl,
      deviceAuthUrl: config.deviceAuthUrl,
      cert: readInputFile(config.certFile),
      key: readFileSync(config.keyFile, 'utf8'),
      ca: config.caFile === undefined ? undefined : readInputFile(config.caFile),
      sharedKey: options.keyFile === undefined ? undefined : readSharedKey(options.keyFile),
      loginRequired: options.login ?? false,
      now: () => environment.clock.now(),
      onEvent: window.onEvent,
      onCloud: window.cloud,
      onClaimCode: window.claimCode,
    });
  const running = await (options.local ? startListening(start, options.listen) : start(undefined));
  const { terminal, local } = running;
  terminal.setCard(options.card);
  await new Promise<void>((end) => {
    const stopKeys = handleKeys(context, running, { window, cards, stop: finish });
    function finish(): void {
      stopKeys();
      end();
    }
    environment.stopping.addEventListener('abort', finish, { once: true });
    window.open({
      tsn: config.tsn,
      ...defined({ url: local?.url, certFile: local?.certFile }),
    });
    if (environment.stopping.aborted) finish();
  });
  try {
    await running.stop();
  } finally {
    window.close();
  }
  if (!output.json) output.printNote('The terminal has stopped.');
  return undefined;
}

/** Listens at the requested address; without one, at the default address or a free port. */
async function startListening(
  start: (listen: HostAndPort) => Promise<RunningTerminal>,
  requested: HostAndPort | undefined,
): Promise<RunningTerminal> {
  const { host, port } = requested ?? defaultAddress;
  try {
    return await start({ host, port });
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    if (!['EADDRINUSE', 'EADDRNOTAVAIL'].includes(code)) throw error;
    // Some systems have no 127.0.0.2, and another terminal may use it.
    if (requested === undefined) return start({ host: '127.0.0.1', port: 0 });
    if (code === 'EADDRINUSE')
      return fail('usage', `${host}:${port} is in use. Choose another address with --listen.`);
    return fail(
      'usage',
      `${host} is not an address of this machine. Choose another one with --listen.`,
    );
  }
}

export const terminalCommands: CommandGroup = {
  group: 'terminal',
  summary: 'simulate a payment terminal',
  description: 'Simulates a payment terminal for developers of points of sale.',
  commands: [
    {
      command: 'simulate',
      description:
        'Simulates a terminal of the demo. Points of sale connect to it through the Cloud Connector or by local HTTPS. It sends its sales to the platform.',
      finishes: true,
      options: [
        demoOption,
        tsnOption,
        option('--card <name>', 'the test card that is presented', {
          default: 'mastercard',
        }),
        option(
          '--listen <host:port>',
          'local address for points of sale; default: 127.0.0.2:8443, else a free port of 127.0.0.1',
          { parse: parseHostAndPort('127.0.0.2:8443') },
        ),
        option('--no-local', 'do not listen on a local address'),
        option('--no-cloud', 'do not connect to the Cloud Connector'),
        option(
          '--key-file <file>',
          'accept only encrypted messages; the file contains identifier:version:pass phrase',
        ),
        option('--login', 'require a Login before other services'),
        option(
          '--data <folder>',
          'folder for the state of the terminal; default: beside demo.json',
        ),
      ],
      run: simulate,
      examples: ['switchyard terminal simulate --tsn 10000001'],
    },
  ],
};
