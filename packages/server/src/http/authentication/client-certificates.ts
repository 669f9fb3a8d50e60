// Reads the client certificate that stands behind a request, and has it judged once per connection.
import { hash, X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { type ErrorCode, refuse } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import { atMost, type Clock, systemClock } from '../../platform/index.ts';
import { createAddressTest } from '../requests/client-address.ts';
import type { Presented } from './caller.ts';

/** RFC 9440: a structured-field byte sequence of the DER. */
const headerForm = /^:([A-Za-z0-9+/]+={0,2}):$/;
export const clientCertHeader = 'client-cert';

/** A connection may live for hours: what another process revoked ends here within this. */
const connectionTtlMs = 30_000;
/** A proxy does not tell when its own connection to the client is a new one. */
const headerTtlMs = 5_000;
const cachedHeadersMax = 10_000;

/** What is known of a certificate whose private key the peer has shown to hold. */
export type GoodCertificate<Holder> = {
  readonly verdict: 'good';
  readonly certificate: X509Certificate;
  /** SHA-256 of the DER in base64url, `x5t#S256` of RFC 8705. */
  readonly thumbprint: string;
  /** Whom it belongs to, in the words of the one who judges. */
  readonly holder: Holder;
};
/** A valid certificate of an unclaimed terminal: it can be used for the claim only. */
export type UnclaimedCertificate<Holder> = Omit<GoodCertificate<Holder>, 'verdict'> & {
  readonly verdict: 'unclaimed';
};
export type CertificateStanding<Holder> =
  | GoodCertificate<Holder>
  | UnclaimedCertificate<Holder>
  | { readonly verdict: 'invalid' | 'expired' | 'revoked' };

export type CertificateJudge<Holder> = {
  /** Looks at everything: the authority's signature, the time, whether it was revoked. */
  judge(certificate: X509Certificate): Promise<CertificateStanding<Holder>>;
  /** Another number than before: what was judged is judged again. */
  revision(): number;
};

/** A request of the server is one, and so is the handshake of a WebSocket. */
type Carrier = { readonly raw: IncomingMessage };

export type CertificateReader<Holder = unknown> = {
  /** Takes the header away from everybody but the trusted proxy; before anything reads it. */
  strip(request: Carrier): void;
  /** Throws `certificate_required`, `_invalid`, `_expired`, `_revoked` or `device_not_claimed`. */
  demand(request: Carrier): Promise<GoodCertificate<Holder>>;
  /** The same, and one of an unclaimed terminal too. */
  demandHolder(request: Carrier): Promise<GoodCertificate<Holder> | UnclaimedCertificate<Holder>>;
  /** Whatever the platform knows of it; throws `certificate_required` or `_invalid`. */
  demandProven(request: Carrier): X509Certificate;
  presentedBy(request: Carrier): Presented;
};

type Deps<Holder> = {
  readonly trustedProxy?: readonly string[] | undefined;
  /** Left out: nobody vouches for any certificate. */
  readonly judge?: CertificateJudge<Holder>;
  readonly clock?: Clock;
};

type Standing<Holder> = CertificateStanding<Holder>;
type Judged<Holder> = {
  readonly at: number;
  readonly revision: number;
  readonly standing: Promise<Standing<Holder> | undefined>;
};

const refusals = {
  invalid: ['certificate_invalid', 'The client certificate is not accepted.'],
  expired: ['certificate_expired', 'The client certificate has expired.'],
  revoked: ['certificate_revoked', 'The client certificate was revoked.'],
} as const satisfies Record<string, readonly [ErrorCode, string]>;

const nobody: CertificateJudge<never> = {
  judge: async () => ({ verdict: 'invalid' }),
  revision: () => 0,
};

export function createCertificateReader<Holder = unknown>({
  trustedProxy = [],
  judge = nobody,
  clock = systemClock,
}: Deps<Holder> = {}): CertificateReader<Holder> {
  const isTrusted = createAddressTest(trustedProxy);
  const connections = new WeakMap<TLSSocket, Judged<Holder>>();
  const headers = new LRUCache<string, Judged<Holder>>(atMost(cachedHeadersMax));

  /** Concurrent requests share one check. A failed check, and one of an unclaimed terminal, is not cached. */
  function judged(
    known: Judged<Holder> | undefined,
    ttlMs: number,
    keep: (judged: Judged<Holder> | undefined) => void,
    look: () => Promise<Standing<Holder> | undefined>,
  ): Promise<Standing<Holder> | undefined> {
    const at = clock.now();
    const revision = judge.revision();
    if (known !== undefined && known.revision === revision && at - known.at < ttlMs) {
      return known.standing;
    }
    const standing = look();
    keep({ at, revision, standing });
    standing.then(
      // A person claims the terminal while its connection stays open.
      (found) => found?.verdict === 'unclaimed' && keep(undefined),
      () => keep(undefined),
    );
    return standing;
  }

  async function ofConnection(socket: TLSSocket): Promise<Standing<Holder> | undefined> {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return undefined;
    const standing = await judge.judge(certificate);
    // A resumed session keeps the verdict of its first handshake, so this alone would not do.
    return 'holder' in standing && !socket.authorized ? { verdict: 'invalid' } : standing;
  }

  async function ofHeader(encoded: string): Promise<Standing<Holder> | undefined> {
    const certificate = certificateIn(encoded);
    return certificate === undefined ? undefined : judge.judge(certificate);
  }

  function standingOf({ raw }: Carrier): Promise<Standing<Holder> | undefined> {
    const { socket } = raw;
    if (socket instanceof TLSSocket) {
      return judged(
        connections.get(socket),
        connectionTtlMs,
        (now) => (now === undefined ? connections.delete(socket) : connections.set(socket, now)),
        () => ofConnection(socket),
      );
    }
    const encoded = raw.headers[clientCertHeader];
    if (typeof encoded !== 'string') return Promise.resolve(undefined);
    const key = hash('sha256', encoded, 'base64url');
    return judged(
      headers.get(key),
      headerTtlMs,
      (now) => (now === undefined ? headers.delete(key) : headers.set(key, now)),
      () => ofHeader(encoded),
    );
  }

  async function demandHolder(request: Carrier) {
    const standing = await standingOf(request);
    if (standing === undefined) {
      return refuse('certificate_required', 'The connection shows no client certificate.');
    }
    if ('holder' in standing) return standing;
    const [code, detail] = refusals[standing.verdict];
    return refuse(code, detail);
  }

  return {
    strip({ raw }) {
      if (raw.headers[clientCertHeader] === undefined) return;
      const isFromProxy = !(raw.socket instanceof TLSSocket) && isTrusted(raw.socket.remoteAddress);
      if (!isFromProxy) delete raw.headers[clientCertHeader];
    },
    async demand(request) {
      const standing = await demandHolder(request);
      if (standing.verdict === 'good') return standing;
      return refuse('device_not_claimed', 'The terminal of the client certificate is not claimed.');
    },
    demandHolder,
    demandProven({ raw }) {
      const certificate = provenIn(raw);
      return (
        certificate ?? refuse('certificate_required', 'The connection shows no client certificate.')
      );
    },
    presentedBy: (request) => ({
      async certificateThumbprint() {
        const standing = await standingOf(request);
        return standing?.verdict === 'good' ? standing.thumbprint : undefined;
      },
    }),
  };
}

/** Of the connection, or of the header, which only a trusted proxy sends. */
function provenIn({ socket, headers }: IncomingMessage): X509Certificate | undefined {
  if (socket instanceof TLSSocket) {
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined || socket.authorized) return certificate;
    return refuse(...refusals.invalid);
  }
  const encoded = headers[clientCertHeader];
  return typeof encoded === 'string' ? certificateIn(encoded) : undefined;
}

function certificateIn(encoded: string): X509Certificate | undefined {
  const der = headerForm.exec(encoded)?.[1];
  if (der === undefined) return undefined;
  try {
    return new X509Certificate(Buffer.from(der, 'base64'));
  } catch {
    return undefined;
  }
}
