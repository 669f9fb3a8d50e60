// Further sockets of the same server, for peers that prove themselves by certificate, and for one part of the routes.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { refuse } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import type { NewConnectionLimits } from '../limits/new-connection-limits.ts';
import { createListener, type ListenerTls } from './listener.ts';
import type { WebSocketUpgrades } from './websocket-upgrades.ts';

export type DeviceListenerOptions = {
  readonly port: number;
  /** Left out only behind a trusted proxy that ends TLS itself. */
  readonly tls?: ListenerTls;
  /** What is served there lies below this path. */
  readonly prefix: string;
  /** The routes that are served nowhere else. */
  readonly exclusiveRoutes: readonly string[];
};

type Deps = {
  readonly host: string;
  readonly options: DeviceListenerOptions;
  readonly handle: RequestListener;
  readonly onClientError: (error: Error, socket: Socket) => void;
  readonly upgrades: Pick<WebSocketUpgrades, 'attach' | 'isWebSocketRequest'>;
  readonly newConnections: NewConnectionLimits;
  /** How many there may be beside the connections of HTTP. */
  readonly webSockets: number;
  readonly sendsHsts: boolean;
};

export type DeviceListener = {
  /** Throws `route_not_found` for what is served by the other listener alone. */
  check(request: FastifyRequest): void;
  listen(): Promise<{ host: string; port: number }>;
  /** Ends every connection: what runs has been waited for before. */
  close(): Promise<void>;
};

export function createDeviceListener(deps: Deps): DeviceListener {
  const { host, options, handle, onClientError, upgrades } = deps;
  const { prefix, exclusiveRoutes, port } = options;
  const ownRequests = new WeakSet<IncomingMessage>();
  const servers: Server[] = [];

  async function open(address: string, onPort: number): Promise<AddressInfo> {
    const handleOwn: RequestListener = (request, response) => {
      ownRequests.add(request);
      handle(request, response);
    };
    const { tls } = options;
    const { newConnections, webSockets, sendsHsts } = deps;
    const server = createListener(handleOwn, {
      tls,
      newConnections,
      webSockets,
      sendsHsts,
      isUpgrade: upgrades.isWebSocketRequest,
    });
    server.on('clientError', onClientError);
    upgrades.attach(server, true);
    server.listen({ host: address, port: onPort });
    await once(server, 'listening');
    servers.push(server);
    return server.address() as AddressInfo;
  }

  return {
    check({ raw, url, routeOptions }) {
      // The route as it was declared: an address can be spelled in many ways.
      const path = routeOptions.url ?? url;
      const isServed = ownRequests.has(raw)
        ? path.startsWith(prefix)
        : !exclusiveRoutes.includes(path);
      if (!isServed) refuse('route_not_found', 'No operation has this path.');
    },

    async listen() {
      const [first = host, ...others] = await addressesOf(host);
      const opened = await open(first, port);
      for (const address of others) await open(address, opened.port);
      return { host: opened.address, port: opened.port };
    },

    async close() {
      await Promise.all(
        servers.splice(0).map(async (server) => {
          const closed = once(server, 'close');
          server.close();
          server.closeAllConnections();
          await closed;
        }),
      );
    },
  };
}

/** Clients try both families of localhost, and the first listener is open at both as well. */
async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host];
  const addresses = await lookup(host, { all: true });
  return [...new Set(addresses.map(({ address }) => address))];
}
