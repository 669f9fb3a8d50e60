// Starts the simulated terminals that pages of the portal control (ADR 0046).
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  defined,
  errorCodes,
  isErrorCode,
  type PortalTerminalView,
  parseTsn,
} from '@switchyard/contract';
import type { CloudChannel } from '@switchyard/simulators';
import type { Identity } from '../identity/index.ts';
import type { Clock, Log, Settings } from '../platform/index.ts';
import type { StartSimulatedTerminal } from '../portal/index.ts';
import { demoKeys } from '../vault/index.ts';
import { seedCertificate } from './seed-device-certificates.ts';

type Ports = {
  readonly settings: Pick<Settings, 'dataDir' | 'baseUrl' | 'deviceAuthUrl'>;
  /** Omitted behind a proxy that terminates TLS. */
  readonly caFile: string | undefined;
  readonly certificates: Identity['devices']['certificates'];
  readonly clock: Clock;
  readonly log: Log;
};

type Connection = Pick<PortalTerminalView, 'connection' | 'errorCode'>;

/** A person reads the result, and needs time to take out a card. */
const times = { stepMs: 2000, cardWaitMs: 90_000 };

const connections = {
  Registering: 'Connecting',
  Connecting: 'Connecting',
  Connected: 'Online',
  Waiting: 'Reconnecting',
  Superseded: 'IdentityInUse',
  Stopped: 'Disconnected',
} as const satisfies Record<ReturnType<CloudChannel['state']>, PortalTerminalView['connection']>;

/** The terminal repeats a refused attempt too, but only a person can remove the reason. */
function isPermanentError(code: string | undefined): boolean {
  return code !== undefined && isErrorCode(code) && !errorCodes[code].retryable;
}

/** @example const start = createTerminalStarter({ settings, caFile, certificates, clock, log }); */
export function createTerminalStarter(ports: Ports): StartSimulatedTerminal {
  const { settings, caFile, certificates, clock, log } = ports;
  const { dataDir, baseUrl, deviceAuthUrl } = settings;
  return async (device, onChange) => {
    const { tsn, physicalDeviceId } = device;
    const { connectTerminalPlatform, connectToCloud, createTerminal, walletCards } = await import(
      '@switchyard/simulators'
    );
    const { certFile, keyFile } = await seedCertificate({ certificates, clock }, dataDir, device);
    const [cert, key, ca] = await Promise.all([
      readFile(certFile, 'utf8'),
      readFile(keyFile, 'utf8'),
      caFile === undefined ? undefined : readFile(caFile, 'utf8'),
    ]);
    const access = { baseUrl, cert, key, ca };
    const { serialNumber } = parseTsn(tsn);
    const { now } = clock;
    const terminal = createTerminal({
      tsn,
      now,
      times,
      isManual: true,
      dataDir: join(dataDir, 'portal-terminals', physicalDeviceId),
      platform: connectTerminalPlatform({ ...access, deviceAuthUrl, serialNumber }, now),
      // Not the keys of the same terminal at the command line, which counts its own transactions.
      keys: demoKeys(dataDir).deviceKey(`${tsn} portal`, 'DukptTdes'),
      random: (size) => randomBytes(size),
      onEvent: ({ type }) => type === 'Screen' && onChange(),
    });
    let connection: Connection = { connection: 'Connecting' };
    let cloud: CloudChannel | undefined;

    const stopChannel = (channel: CloudChannel | undefined) =>
      channel?.stop().catch((error: unknown) => {
        log.error({ err: error, tsn }, 'a simulated terminal did not disconnect');
      });

    function connect(): void {
      const former = cloud;
      const started = connectToCloud(terminal, {
        ...access,
        onState(state, code) {
          if (code !== undefined)
            log.warn({ tsn, state, code }, 'a simulated terminal had a fault');
          if (cloud !== started) return;
          connection = isPermanentError(code)
            ? { connection: 'Refused', ...defined({ errorCode: code }) }
            : { connection: connections[state] };
          onChange();
        },
      });
      cloud = started;
      void stopChannel(former);
    }

    try {
      connect();
    } catch (error) {
      await terminal.stop();
      throw error;
    }
    return {
      view: () => ({ tsn, cards: walletCards, screen: terminal.screen(), ...connection }),
      input: terminal.input,
      connect,
      disconnect: () => void stopChannel(cloud),
      async stop() {
        await stopChannel(cloud);
        await terminal.stop();
      },
    };
  };
}
