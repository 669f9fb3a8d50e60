// Reads the client certificate that stands behind a request, from the connection or from the proxy.
import { createHash, X509Certificate } from 'node:crypto';
import { BlockList, isIPv6 } from 'node:net';
import { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import type { Presented } from './caller.ts';

/** RFC 9440: a structured-field byte sequence of the DER. */
const headerForm = /^:([A-Za-z0-9+/]+={0,2}):$/;
export const clientCertHeader = 'client-cert';

export type CertificateReader = {
  /** Takes the header away from everybody but the trusted proxy; before anything reads it. */
  strip(request: FastifyRequest): void;
  /** A certificate that its authority vouches for; nothing where none, or a bad one, was shown. */
  certificateOf(request: FastifyRequest): X509Certificate | undefined;
  presentedBy(request: FastifyRequest): Presented;
};

export function createCertificateReader(trustedProxy: readonly string[] = []): CertificateReader {
  const isTrusted = createAddressTest(trustedProxy);

  function fromHeader(request: FastifyRequest): X509Certificate | undefined {
    const encoded = headerForm.exec(String(request.headers[clientCertHeader] ?? ''))?.[1];
    if (encoded === undefined) return undefined;
    try {
      return new X509Certificate(Buffer.from(encoded, 'base64'));
    } catch {
      return undefined;
    }
  }

  function certificateOf(request: FastifyRequest): X509Certificate | undefined {
    const { socket } = request.raw;
    if (!(socket instanceof TLSSocket)) return fromHeader(request);
    return socket.authorized ? socket.getPeerX509Certificate() : undefined;
  }

  return {
    strip({ raw }) {
      if (raw.headers[clientCertHeader] === undefined) return;
      const isFromProxy = !(raw.socket instanceof TLSSocket) && isTrusted(raw.socket.remoteAddress);
      if (!isFromProxy) delete raw.headers[clientCertHeader];
    },
    certificateOf,
    presentedBy: (request) => ({
      certificateThumbprint() {
        const certificate = certificateOf(request);
        return certificate && createHash('sha256').update(certificate.raw).digest('base64url');
      },
    }),
  };
}

/** Of addresses and of ranges such as `10.0.0.0/8`. */
function createAddressTest(ranges: readonly string[]): (address: string | undefined) => boolean {
  const list = new BlockList();
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return (address) =>
    address !== undefined && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
