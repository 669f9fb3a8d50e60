// Starts a terminal with its platform connection, local listener and Cloud Connector connection.
import { randomBytes } from 'node:crypto';
import { defined, parseTsn } from '@switchyard/contract';
import { createProtection, type SharedKey } from '@switchyard/nexo';
import type { DeviceState } from '@switchyard/sdk-device';
import type { PinPadKeys } from './cards/pin-pad.ts';
import { createClaimCodes } from './connections/claim-codes.ts';
import { connectToCloud } from './connections/cloud-connector.ts';
import { listenLocally } from './connections/local-listener.ts';
import type { TerminalEvent, TerminalTimes } from './context/service-context.ts';
import type { Terminal } from './context/terminal-interface.ts';
import { connectTerminalPlatform } from './platform/payments-api.ts';
import { createTerminal } from './terminal.ts';

/**
 * Identity and connections of the terminal.
 *
 * @example
 * const options: StartOptions = { tsn, dataDir, keys, baseUrl, deviceAuthUrl, cert, key, ca, now: Date.now };
 */
export type StartOptions = {
  readonly tsn: string;
  readonly dataDir: string;
  readonly keys: PinPadKeys;
  readonly baseUrl: string;
  readonly deviceAuthUrl: string;
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
  /** Without it, the terminal does not listen. */
  readonly listen?: { readonly host: string; readonly port: number } | undefined;
  /** Whether it connects to the Cloud Connector. */
  readonly cloud?: boolean;
  /** With it nothing is taken that is not protected, on either way. */
  readonly sharedKey?: SharedKey | undefined;
  /** Shows each claim code that the terminal makes; without it, no code is sent to the Cloud Connector. */
  readonly onClaimCode?: (claimCode: string) => void;
  readonly loginRequired?: boolean;
  readonly times?: Partial<TerminalTimes>;
  readonly now: () => number;
  /** Random bytes; default: node:crypto. A test passes a fixed source. */
  readonly random?: (size: number) => Uint8Array;
  readonly onEvent?: (event: TerminalEvent) => void;
  readonly onCloud?: (state: DeviceState, error?: string) => void;
};

/**
 * A terminal that can be reached.
 *
 * @example
 * const { terminal, local, stop } = await startTerminal(options);
 */
export type StartedTerminal = {
  readonly terminal: Terminal;
  readonly local?: { readonly url: string; readonly certFile: string };
  stop(): Promise<void>;
};

/** The subject that common client libraries expect: model, hyphen, serial number. */
function subjectOf(tsn: string): string {
  const { makeAndModel, serialNumber } = parseTsn(tsn);
  return `${makeAndModel.replace(/[^A-Za-z0-9]/g, '')}-${serialNumber}.test.terminal.adyen.com`;
}

/**
 * Starts a terminal.
 *
 * @throws Error where it cannot listen or write
 * @example
 * const { stop } = await startTerminal(options);
 */
export async function startTerminal(options: StartOptions): Promise<StartedTerminal> {
  const { tsn, dataDir, baseUrl, deviceAuthUrl, cert, key, ca, now, listen } = options;
  const { keys, onEvent, loginRequired, times, sharedKey, random = randomBytes } = options;
  const device = { baseUrl, cert, key, ca };
  const platform = connectTerminalPlatform(
    { ...device, deviceAuthUrl, serialNumber: parseTsn(tsn).serialNumber },
    now,
  );
  const terminal = createTerminal({
    tsn,
    dataDir,
    platform,
    keys,
    now,
    random: (size) => random(size),
    ...defined({ onEvent, times, loginRequired }),
  });
  const protection =
    sharedKey === undefined ? undefined : createProtection({ keys: [sharedKey], randomBytes });
  const names = [subjectOf(tsn)];
  const local =
    listen === undefined
      ? undefined
      : await listenLocally(terminal, {
          ...listen,
          directory: dataDir,
          names,
          protection,
          now,
        }).catch(async (error: unknown) => {
          await terminal.stop();
          throw error;
        });
  const { onCloud, onClaimCode } = options;
  const claimCode = onClaimCode && createClaimCodes(now, onClaimCode);
  const cloud =
    options.cloud === false
      ? undefined
      : connectToCloud(terminal, {
          ...device,
          protection,
          ...defined({ onState: onCloud, claimCode }),
        });
  return {
    terminal,
    ...defined({
      local: local === undefined ? undefined : { url: local.url, certFile: local.certFile },
    }),
    async stop() {
      await cloud?.stop();
      await local?.close();
      await terminal.stop();
    },
  };
}
