import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, it } from 'node:test';
import { connect, TLSSocket } from 'node:tls';
import { testDatabase } from '../../../test/support/database/test-database.ts';
import { createLog, createSessionTicketKeys, type Database } from '../../platform/index.ts';
import { type MadeCertificate, makeCertificate } from '../authentication/certificate.fixture.ts';
import { createNewConnectionLimits } from '../limits/new-connection-limits.ts';
import { createListener, type ListenerTls } from './listener.ts';

const masterKey = randomBytes(32);
const versions = ['TLSv1.2', 'TLSv1.3'] as const;
type Version = (typeof versions)[number];

/** A listener with the ticket keys of a process of its own. */
async function openProcess(database: Database, tls: ListenerTls) {
  const log = createLog({ logLevel: 'error', instanceName: 'session-resumption' });
  const sessionTickets = createSessionTicketKeys({ database, masterKey, log });
  const server = createListener(
    ({ socket }: IncomingMessage, response) =>
      response.end(
        socket instanceof TLSSocket && socket.getPeerX509Certificate() ? 'certificate' : 'none',
      ),
    {
      tls: { ...tls, sessionTickets },
      newConnections: createNewConnectionLimits({}),
      isUpgrade: () => false,
      webSockets: 0,
      sendsHsts: false,
    },
  );
  await sessionTickets.start();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    refresh: sessionTickets.refresh,
    async close() {
      await sessionTickets.stop();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('TLS sessions of a client', () => {
  let database: Database;
  let certificate: MadeCertificate;
  let device: MadeCertificate;
  let processes: Awaited<ReturnType<typeof openProcess>>[];

  before(async () => {
    database = await testDatabase();
    await database.query('DELETE FROM tls_ticket_keys');
    [certificate, device] = await Promise.all([makeCertificate('server'), makeCertificate('till')]);
    const authorities = [device.cert];
    processes = await Promise.all([
      openProcess(database, { ...certificate, clientAuthorities: authorities }),
      openProcess(database, { ...certificate, clientAuthorities: authorities }),
      openProcess(database, { ...certificate, clientAuthorities: [certificate.cert] }),
    ]);
  });
  after(() => Promise.all(processes.map(({ close }) => close())));

  /** One request over a new connection to a process. */
  async function send(process: number, version: Version, session?: Buffer) {
    const socket = connect({
      port: processes[process]?.port ?? 0,
      host: '127.0.0.1',
      ca: certificate.cert,
      checkServerIdentity: () => undefined,
      ...device,
      minVersion: version,
      maxVersion: version,
      session,
    });
    let newSession = session;
    socket.on('session', (received: Buffer) => {
      newSession = received;
    });
    await once(socket, 'secureConnect');
    const isResumed = socket.isSessionReused();
    socket.end('GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    let response = '';
    for await (const chunk of socket) response += String(chunk);
    return { isResumed, session: newSession, body: response.split('\r\n\r\n')[1] };
  }

  for (const version of versions) {
    it(`continue at another process, with the client certificate (${version})`, async () => {
      const first = await send(0, version);
      assert.deepEqual([first.isResumed, first.body], [false, 'certificate']);
      const second = await send(1, version, first.session);
      assert.deepEqual([second.isResumed, second.body], [true, 'certificate']);
    });

    it(`do not continue at a listener with other authorities (${version})`, async () => {
      const { session } = await send(0, version);
      assert.equal((await send(2, version, session)).isResumed, false);
    });

    it(`do not continue after the key of their period was deleted (${version})`, async () => {
      const { session } = await send(0, version);
      await database.query('UPDATE tls_ticket_keys SET period = period - 1');
      await Promise.all(processes.map(({ refresh }) => refresh()));
      const rows = await database.query('SELECT period FROM tls_ticket_keys');
      assert.equal(rows.length, 1);
      const next = await send(0, version, session);
      assert.equal(next.isResumed, false);
      assert.equal((await send(1, version, next.session)).isResumed, true);
    });
  }
});
