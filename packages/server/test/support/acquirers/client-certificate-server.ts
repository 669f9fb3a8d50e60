// A TLS server before an acquirer that accepts only clients with a known certificate.
import { connect, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import {
  type MadeCertificate,
  makeCertificate,
} from '../../../src/http/authentication/certificate.fixture.ts';

export type DemandingServer = {
  port: number;
  /** The certificate authority that clients must trust. */
  authority: string;
  /** The subject names of the client certificates that the server accepted. */
  shown: string[];
  /** The number of refused connections. */
  refused(): number;
  /** Accepts only these certificates from now on, and closes all connections. */
  know(...clients: readonly MadeCertificate[]): void;
  close(): Promise<void>;
};

export async function demandingServer(
  behind: number,
  ...clients: readonly MadeCertificate[]
): Promise<DemandingServer> {
  const own = await makeCertificate('acquirer');
  const demands = (known: readonly MadeCertificate[]) => ({
    cert: own.cert,
    key: own.key,
    requestCert: true,
    rejectUnauthorized: true,
    ca: known.map(({ cert }) => cert),
  });
  const open = new Set<Socket>();
  const shown: string[] = [];
  let refused = 0;
  const server = createServer(demands(clients), (socket: TLSSocket) => {
    const { CN } = socket.getPeerCertificate().subject;
    shown.push(String(CN));
    const inner = connect(behind, '127.0.0.1');
    for (const each of [socket, inner]) {
      open.add(each);
      each.on('error', () => {});
      each.on('close', () => {
        open.delete(each);
        (each === socket ? inner : socket).destroy();
      });
    }
    socket.pipe(inner).pipe(socket);
  });
  server.on('tlsClientError', () => {
    refused += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    authority: own.cert,
    shown,
    refused: () => refused,
    know(...known) {
      server.setSecureContext(demands(known));
      for (const each of open) each.destroy();
    },
    async close() {
      for (const each of open) each.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
