// Validates the certificate of a device: issuer, validity period, revocation and claim.
import { hash, type X509Certificate } from 'node:crypto';
import type { CertificateVerifier } from '../../http/index.ts';
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
  /** Whether only claimed terminals may connect. */
  readonly requiresClaims: boolean;
};

export const thumbprintOf = (certificate: X509Certificate): string =>
  hash('sha256', certificate.raw, 'base64url');

/** False for CA certificates and for certificates without client authentication. */
export function isClientCertificate({ ca, keyUsage }: X509Certificate): boolean {
  // Missing in a certificate without the extension, although the types of Node say otherwise.
  const usages: readonly string[] | undefined = keyUsage;
  return !ca && (usages === undefined || usages.includes(clientAuthentication));
}

export function createDeviceCertificateValidator(
  deps: Deps,
): CertificateVerifier<CertificateHolder> {
  const { authorities, store, clock, changeCounter, requiresClaims } = deps;

  /**
   * A certificate of the manufacturer is public and can be registered by others: the terminal
   * itself must have presented it.
   */
  async function isClaimed({ claimMethod }: RegisteredCertificate, issuer: X509Certificate) {
    const isFromOperatorAuthority = (await authorities.operatorAuthorities()).includes(issuer);
    return isFromOperatorAuthority ? claimMethod === 'Certificate' : claimMethod !== undefined;
  }

  return {
    revision: changeCounter.current,

    async verify(certificate) {
      const issuer = findIssuer(certificate, await authorities.trustedAuthorities());
      // Anyone can create such a certificate, so the response gives no details.
      if (issuer === undefined || !isClientCertificate(certificate)) return { status: 'invalid' };
      const now = clock.now();
      if (now < certificate.validFromDate.getTime()) return { status: 'invalid' };
      const endsAt = Math.min(certificate.validToDate.getTime(), issuer.validToDate.getTime());
      if (now >= endsAt) return { status: 'expired' };
      const thumbprint = thumbprintOf(certificate);
      const registered = await store.findRegistered(thumbprint);
      if (registered === undefined) return { status: 'invalid' };
      if (registered.revokedAt !== undefined) return { status: 'revoked' };
      const status =
        !requiresClaims || (await isClaimed(registered, issuer)) ? 'valid' : 'unclaimed';
      return { status, certificate, thumbprint, holder: registered };
    },
  };
}
