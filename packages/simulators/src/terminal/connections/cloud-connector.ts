// The connection of the terminal to the Cloud Connector.
import { connectorPaths, defined } from '@switchyard/contract';
import type { Protection } from '@switchyard/nexo';
import { createDeviceClient, type DeviceState } from '@switchyard/sdk-device';
import type { TerminalChannel } from '../context/service-context.ts';
import type { Terminal } from '../context/terminal-interface.ts';

/**
 * URL of the platform, and the certificate of the terminal.
 *
 * @example
 * const cloud = connectToCloud(terminal, { baseUrl, cert, key, ca, onState: console.log });
 */
export type CloudOptions = {
  readonly baseUrl: string;
  /** PEM. */
  readonly cert: string;
  readonly key: string;
  readonly ca?: string | undefined;
  /** With it nothing is taken that is not protected. */
  readonly protection?: Protection | undefined;
  /** Gives the claim code that is sent with a registration. */
  readonly claimCode?: (() => string) | undefined;
  readonly onState?: (state: DeviceState, error?: string) => void;
};

/**
 * A terminal at the Cloud Connector.
 *
 * @example
 * await cloud.stop();
 */
export type CloudChannel = {
  readonly state: () => DeviceState;
  stop(): Promise<void>;
};

/**
 * Connects, and reconnects after each disconnection, until it is stopped.
 *
 * @example
 * const cloud = connectToCloud(terminal, options);
 */
export function connectToCloud(terminal: Terminal, options: CloudOptions): CloudChannel {
  const { baseUrl, cert, key, ca, protection, onState = () => undefined } = options;
  const address = new URL(connectorPaths.deviceListener, baseUrl);
  address.protocol = 'wss:';
  const client = createDeviceClient({
    tsn: terminal.tsn,
    registerUrl: address.href,
    tls: { cert, key, ...defined({ ca }) },
    ...defined({ claimCode: options.claimCode }),
  });
  let isStopped = false;
  let error: string | undefined;

  async function breakOff(): Promise<void> {
    await client.stop();
    if (!isStopped) client.start();
  }

  const channel: TerminalChannel = {
    isTwoWay: true,
    ...defined({ protection }),
    // A disconnected till requests the outcome later.
    send: (text) => void client.send(text).catch(() => undefined),
    drop: () => void breakOff(),
  };
  let detach = terminal.attach(channel);
  client.on('error', ({ code }) => {
    error = code;
  });
  client.on('state', ({ state }) => {
    onState(state, state === 'Waiting' ? error : undefined);
    if (state !== 'Connected') return;
    error = undefined;
    detach();
    detach = terminal.attach(channel);
  });
  client.on('message', ({ data }) => {
    terminal.receive(data, channel).catch((fault: Error) => onState(client.state, fault.message));
  });
  client.start();
  return {
    state: () => client.state,
    async stop() {
      isStopped = true;
      detach();
      await client.stop();
    },
  };
}
