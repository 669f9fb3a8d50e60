// Judges the certificate of a device: who signed it, whether its time is now, whether it was revoked.
import { hash, type X509Certificate } from 'node:crypto';
import type { CertificateJudge } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import { type DeviceAuthorities, findIssuer } from './certificate-authority.ts';
import type { DeviceCertificateStore } from './device-certificate-sql.ts';
import type { CertificateHolder, RegisteredCertificate } from './types.ts';

const clientAuthentication = '1.3.6.1.5.5.7.3.2';

type Deps = {
  readonly authorities: DeviceAuthorities;
  readonly store: Pick<DeviceCertificateStore, 'findRegistered'>;
  readonly clock: Clock;
  readonly changeCounter: ChangeCounter;
  /** Whether a terminal has to be claimed before it connects. */
  readonly requiresClaims: boolean;
};

export const thumbprintOf = (certificate: X509Certificate): string =>
  hash('sha256', certificate.raw, 'base64url');

/** One that may sign, or was made for servers, speaks for no device. */
export function isClientCertificate({ ca, keyUsage }: X509Certificate): boolean {
  // Node's types promise what a certificate without the extension does not have.
  const usages: readonly string[] | undefined = keyUsage;
  return !ca && (usages === undefined || usages.includes(clientAuthentication));
}

export function createDeviceCertificateValidator(deps: Deps): CertificateJudge<CertificateHolder> {
  const { authorities, store, clock, changeCounter, requiresClaims } = deps;

  /** A maker's certificate is public, and anyone can make it known: the terminal itself has to have shown it. */
  async function isClaimed({ claimMethod }: RegisteredCertificate, issuer: X509Certificate) {
    const isFromOperatorAuthority = (await authorities.operatorAuthorities()).includes(issuer);
    return isFromOperatorAuthority ? claimMethod === 'Certificate' : claimMethod !== undefined;
  }

  return {
    revision: changeCounter.current,

    async judge(certificate) {
      const issuer = findIssuer(certificate, await authorities.trustedAuthorities());
      // Nothing more is told of a certificate that anybody could have made.
      if (issuer === undefined || !isClientCertificate(certificate)) return { verdict: 'invalid' };
      const now = clock.now();
      if (now < certificate.validFromDate.getTime()) return { verdict: 'invalid' };
      const endsAt = Math.min(certificate.validToDate.getTime(), issuer.validToDate.getTime());
      if (now >= endsAt) return { verdict: 'expired' };
      const thumbprint = thumbprintOf(certificate);
      const registered = await store.findRegistered(thumbprint);
      if (registered === undefined) return { verdict: 'invalid' };
      if (registered.revokedAt !== undefined) return { verdict: 'revoked' };
      const verdict =
        !requiresClaims || (await isClaimed(registered, issuer)) ? 'good' : 'unclaimed';
      return { verdict, certificate, thumbprint, holder: registered };
    },
  };
}
