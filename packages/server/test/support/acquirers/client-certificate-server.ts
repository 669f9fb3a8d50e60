// A TLS server before an acquirer that accepts only clients with a known certificate.
import { connect, type Socket } from 'node:net';
import { createServer, type TLSSocket } from 'node:tls';
import {
  type MadeCertificate,
  makeCertificate,
} from '../../../src/http/authentication/certificate.fixture.ts';

export type ClientCertificateServer = {
  port: number;
  /** The certificate authority that clients must trust. */
  authority: string;
  /** The subject names of the client certificates that the server accepted. */
  acceptedClients: string[];
  /** The number of refused connections. */
  refusedConnections(): number;
  /** Accepts only these certificates from now on, and closes all connections. */
  acceptOnly(...clients: readonly MadeCertificate[]): void;
  close(): Promise<void>;
};

export async function startClientCertificateServer(
  acquirerPort: number,
  ...clients: readonly MadeCertificate[]
): Promise<ClientCertificateServer> {
  const serverCertificate = await makeCertificate('acquirer');
  const tlsOptions = (trustedClients: readonly MadeCertificate[]) => ({
    cert: serverCertificate.cert,
    key: serverCertificate.key,
    requestCert: true,
    rejectUnauthorized: true,
    ca: trustedClients.map(({ cert }) => cert),
  });
  const openSockets = new Set<Socket>();
  const acceptedClients: string[] = [];
  let refusedConnections = 0;
  const server = createServer(tlsOptions(clients), (socket: TLSSocket) => {
    const { CN } = socket.getPeerCertificate().subject;
    acceptedClients.push(String(CN));
    const acquirerSocket = connect(acquirerPort, '127.0.0.1');
    for (const each of [socket, acquirerSocket]) {
      openSockets.add(each);
      each.on('error', () => {});
      each.on('close', () => {
        openSockets.delete(each);
        (each === socket ? acquirerSocket : socket).destroy();
      });
    }
    socket.pipe(acquirerSocket).pipe(socket);
  });
  server.on('tlsClientError', () => {
    refusedConnections += 1;
  });
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    port: address.port,
    authority: serverCertificate.cert,
    acceptedClients,
    refusedConnections: () => refusedConnections,
    acceptOnly(...trustedClients) {
      server.setSecureContext(tlsOptions(trustedClients));
      for (const each of openSockets) each.destroy();
    },
    async close() {
      for (const each of openSockets) each.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
