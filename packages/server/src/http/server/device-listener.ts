// The listener for devices: further sockets of the same server that require client certificates and serve some routes only.
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { throwProblem } from '@switchyard/contract';
import type { FastifyRequest } from 'fastify';
import type { NewConnectionLimits } from '../limits/new-connection-limits.ts';
import { createListener, type ListenerTls } from './listener.ts';
import type { WebSocketUpgrades } from './websocket-upgrades.ts';

export type DeviceListenerOptions = {
  readonly port: number;
  /** Left out only behind a trusted proxy that ends TLS itself. */
  readonly tls?: ListenerTls;
  /** The device listener serves the routes below this path only. */
  readonly prefix: string;
  /** Routes that only the device listener serves. */
  readonly exclusiveRoutes: readonly string[];
};

type Deps = {
  readonly host: string;
  readonly options: DeviceListenerOptions;
  readonly handle: RequestListener;
  readonly onClientError: (error: Error, socket: Socket) => void;
  readonly upgrades: Pick<WebSocketUpgrades, 'attach' | 'isWebSocketRequest'>;
  readonly newConnections: NewConnectionLimits;
  /** The maximum number of WebSockets besides HTTP connections. */
  readonly webSockets: number;
  readonly sendsHsts: boolean;
};

export type DeviceListener = {
  /** @throws ProblemError route_not_found for a route of the other listener */
  check(request: FastifyRequest): void;
  listen(): Promise<{ host: string; port: number }>;
  /** Closes every connection; the caller has waited for running requests before. */
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
      // The declared route, since a URL has several spellings.
      const path = routeOptions.url ?? url;
      const isServed = ownRequests.has(raw)
        ? path.startsWith(prefix)
        : !exclusiveRoutes.includes(path);
      if (!isServed)
        throwProblem(
          'route_not_found',
          'No operation has this path; check the path of the request.',
        );
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

/** Clients try the IPv4 and the IPv6 address of localhost, and Fastify listens on both as well. */
async function addressesOf(host: string): Promise<string[]> {
  if (host !== 'localhost') return [host];
  const addresses = await lookup(host, { all: true });
  return [...new Set(addresses.map(({ address }) => address))];
}
