// Reads the client certificate of a request from TLS or from a proxy header, and verifies it once per connection.
import { hash, X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { type ErrorCode, throwProblem } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { type Clock, lruCacheOptions, systemClock } from '../../platform/index.ts';
import { createAddressMatcher } from '../requests/client-address.ts';
import type { PresentedCertificate } from './caller.ts';

/** RFC 9440: a structured-field byte sequence of the DER. */
const headerPattern = /^:([A-Za-z0-9+/]+={0,2}):$/;
export const clientCertHeader = 'client-cert';

/** A connection may live for hours; a revocation by another process takes effect within this time. */
const connectionTtlMs = 30_000;
/** The platform cannot see when the proxy gets a new connection from the client. */
const headerTtlMs = 5_000;
const maxCachedHeaders = 10_000;

/** A verified certificate whose private key the client has proven to have. */
export type ValidCertificate<Holder> = {
  readonly status: 'valid';
  readonly certificate: X509Certificate;
  /** SHA-256 of the DER in base64url, `x5t#S256` of RFC 8705. */
  readonly thumbprint: string;
  /** The owner of the certificate, as the verifier describes it. */
  readonly holder: Holder;
};
/** A valid certificate of an unclaimed terminal: it can be used for the claim only. */
export type UnclaimedCertificate<Holder> = Omit<ValidCertificate<Holder>, 'status'> & {
  readonly status: 'unclaimed';
};
export type CertificateStatus<Holder> =
  | ValidCertificate<Holder>
  | UnclaimedCertificate<Holder>
  | { readonly status: 'invalid' | 'expired' | 'revoked' };

export type CertificateVerifier<Holder> = {
  /** Checks the signature of the authority, the validity period and revocation. */
  verify(certificate: X509Certificate): Promise<CertificateStatus<Holder>>;
  /** A changed number invalidates the cached results. */
  revision(): number;
};

/** A request or the handshake of a WebSocket. */
type RawRequest = { readonly raw: IncomingMessage };

export type CertificateReader<Holder = unknown> = {
  /** Removes the certificate header unless a trusted proxy sent it; must run before the header is read. */
  removeUntrustedHeader(request: RawRequest): void;
  /** @throws ProblemError certificate_required, _invalid, _expired, _revoked, device_not_claimed */
  requireCertificate(request: RawRequest): Promise<ValidCertificate<Holder>>;
  /** The same, and also accepts the certificate of an unclaimed terminal. */
  requireKnownCertificate(
    request: RawRequest,
  ): Promise<ValidCertificate<Holder> | UnclaimedCertificate<Holder>>;
  /** Also accepts a certificate that the platform does not know. @throws ProblemError certificate_required, _invalid */
  requirePresentedCertificate(request: RawRequest): X509Certificate;
  presentedCertificate(request: RawRequest): PresentedCertificate;
};

type Deps<Holder> = {
  readonly trustedProxy?: readonly string[] | undefined;
  /** Left out: every certificate is invalid. */
  readonly verifier?: CertificateVerifier<Holder>;
  readonly clock?: Clock;
};

type Status<Holder> = CertificateStatus<Holder>;
type CachedStatus<Holder> = {
  readonly checkedAt: number;
  readonly revision: number;
  readonly status: Promise<Status<Holder> | undefined>;
};

const certificateErrors = {
  invalid: [
    'certificate_invalid',
    'The platform does not accept the client certificate: its issuer or its device is unknown, or it is not valid yet.',
  ],
  expired: ['certificate_expired', 'The client certificate has expired.'],
  revoked: [
    'certificate_revoked',
    'The client certificate was revoked. Request a new one for the device.',
  ],
} as const satisfies Record<string, readonly [ErrorCode, string]>;

const rejectAll: CertificateVerifier<never> = {
  verify: async () => ({ status: 'invalid' }),
  revision: () => 0,
};

export function createCertificateReader<Holder = unknown>({
  trustedProxy = [],
  verifier = rejectAll,
  clock = systemClock,
}: Deps<Holder> = {}): CertificateReader<Holder> {
  const isTrusted = createAddressMatcher(trustedProxy);
  const statusByConnection = new WeakMap<TLSSocket, CachedStatus<Holder>>();
  const statusByHeader = new LRUCache<string, CachedStatus<Holder>>(
    lruCacheOptions(maxCachedHeaders),
  );

  /** Concurrent requests share one check. The result of a failed check or of an unclaimed terminal is not cached. */
  function readCached(
    cached: CachedStatus<Holder> | undefined,
    ttlMs: number,
    store: (entry: CachedStatus<Holder> | undefined) => void,
    read: () => Promise<Status<Holder> | undefined>,
  ): Promise<Status<Holder> | undefined> {
    const checkedAt = clock.now();
    const revision = verifier.revision();
    if (
      cached !== undefined &&
      cached.revision === revision &&
      checkedAt - cached.checkedAt < ttlMs
    ) {
      return cached.status;
    }
    const status = read();
    store({ checkedAt, revision, status });
    status.then(
      // A user can claim the terminal while its connection stays open.
      (result) => result?.status === 'unclaimed' && store(undefined),
      () => store(undefined),
    );
    return status;
  }

  async function readConnection(socket: TLSSocket): Promise<Status<Holder> | undefined> {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return undefined;
    const status = await verifier.verify(certificate);
    // A resumed TLS session keeps `authorized` of its first handshake, so the verifier runs as well.
    return 'holder' in status && !socket.authorized ? { status: 'invalid' } : status;
  }

  async function readHeader(encoded: string): Promise<Status<Holder> | undefined> {
    const certificate = parseHeader(encoded);
    return certificate === undefined ? undefined : verifier.verify(certificate);
  }

  function statusOf({ raw }: RawRequest): Promise<Status<Holder> | undefined> {
    const { socket } = raw;
    if (socket instanceof TLSSocket) {
      return readCached(
        statusByConnection.get(socket),
        connectionTtlMs,
        (entry) =>
          entry === undefined
            ? statusByConnection.delete(socket)
            : statusByConnection.set(socket, entry),
        () => readConnection(socket),
      );
    }
    const encoded = raw.headers[clientCertHeader];
    if (typeof encoded !== 'string') return Promise.resolve(undefined);
    const key = hash('sha256', encoded, 'base64url');
    return readCached(
      statusByHeader.get(key),
      headerTtlMs,
      (entry) =>
        entry === undefined ? statusByHeader.delete(key) : statusByHeader.set(key, entry),
      () => readHeader(encoded),
    );
  }

  async function requireKnownCertificate(request: RawRequest) {
    const status = await statusOf(request);
    if (status === undefined) {
      return throwProblem('certificate_required', 'The connection has no client certificate.');
    }
    if ('holder' in status) return status;
    const [code, detail] = certificateErrors[status.status];
    return throwProblem(code, detail);
  }

  return {
    removeUntrustedHeader({ raw }) {
      if (raw.headers[clientCertHeader] === undefined) return;
      const isFromProxy = !(raw.socket instanceof TLSSocket) && isTrusted(raw.socket.remoteAddress);
      if (!isFromProxy) delete raw.headers[clientCertHeader];
    },
    async requireCertificate(request) {
      const status = await requireKnownCertificate(request);
      if (status.status === 'valid') return status;
      return throwProblem(
        'device_not_claimed',
        'No organisation has claimed the terminal of the client certificate. Claim the terminal first.',
      );
    },
    requireKnownCertificate,
    requirePresentedCertificate({ raw }) {
      const certificate = presentedIn(raw);
      return (
        certificate ??
        throwProblem('certificate_required', 'The connection has no client certificate.')
      );
    },
    presentedCertificate: (request) => ({
      async thumbprint() {
        const status = await statusOf(request);
        return status?.status === 'valid' ? status.thumbprint : undefined;
      },
    }),
  };
}

/** The certificate of the TLS connection, or of the header of a trusted proxy. */
function presentedIn({ socket, headers }: IncomingMessage): X509Certificate | undefined {
  if (socket instanceof TLSSocket) {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined || socket.authorized) return certificate;
    return throwProblem(...certificateErrors.invalid);
  }
  const encoded = headers[clientCertHeader];
  return typeof encoded === 'string' ? parseHeader(encoded) : undefined;
}

function parseHeader(encoded: string): X509Certificate | undefined {
  const der = headerPattern.exec(encoded)?.[1];
  if (der === undefined) return undefined;
  try {
    return new X509Certificate(Buffer.from(der, 'base64'));
  } catch {
    return undefined;
  }
}
