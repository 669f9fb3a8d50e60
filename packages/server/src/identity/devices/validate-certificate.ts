// Judges the certificate of a device: who signed it, whether its time is now, whether it was revoked.
import { hash, type X509Certificate } from 'node:crypto';
import type { CertificateJudge } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { Revision } from '../infrastructure/change-counter.ts';
import { type Authorities, issuerOf } from './certificate-authority.ts';
import type { DeviceStore } from './device-certificate-sql.ts';
import type { CertificateHolder, KnownCertificate } from './types.ts';

const clientAuthentication = '1.3.6.1.5.5.7.3.2';

type Deps = {
  readonly authorities: Authorities;
  readonly store: Pick<DeviceStore, 'findKnown'>;
  readonly clock: Clock;
  readonly revision: Revision;
  /** Whether a terminal has to be claimed before it connects. */
  readonly requiresClaims: boolean;
};

export const thumbprintOf = (certificate: X509Certificate): string =>
  hash('sha256', certificate.raw, 'base64url');

/** One that may sign, or was made for servers, speaks for no device. */
export function isForDevices({ ca, keyUsage }: X509Certificate): boolean {
  // Node's types promise what a certificate without the extension does not have.
  const usages: readonly string[] | undefined = keyUsage;
  return !ca && (usages === undefined || usages.includes(clientAuthentication));
}

export function createCertificateJudge(deps: Deps): CertificateJudge<CertificateHolder> {
  const { authorities, store, clock, revision, requiresClaims } = deps;

  /** A maker's certificate is public, and anyone can make it known: the terminal itself has to have shown it. */
  async function isClaimed({ claimMethod }: KnownCertificate, issuer: X509Certificate) {
    const isOfMaker = (await authorities.operators()).includes(issuer);
    return isOfMaker ? claimMethod === 'Certificate' : claimMethod !== undefined;
  }

  return {
    revision: revision.current,

    async judge(certificate) {
      const issuer = issuerOf(certificate, await authorities.trusted());
      // Nothing more is told of a certificate that anybody could have made.
      if (issuer === undefined || !isForDevices(certificate)) return { verdict: 'invalid' };
      const now = clock.now();
      if (now < certificate.validFromDate.getTime()) return { verdict: 'invalid' };
      const endsAt = Math.min(certificate.validToDate.getTime(), issuer.validToDate.getTime());
      if (now >= endsAt) return { verdict: 'expired' };
      const thumbprint = thumbprintOf(certificate);
      const known = await store.findKnown(thumbprint);
      if (known === undefined) return { verdict: 'invalid' };
      if (known.revokedAt !== undefined) return { verdict: 'revoked' };
      const verdict = !requiresClaims || (await isClaimed(known, issuer)) ? 'good' : 'unclaimed';
      return { verdict, certificate, thumbprint, holder: known };
    },
  };
}
