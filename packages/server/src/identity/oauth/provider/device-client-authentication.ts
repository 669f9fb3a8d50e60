// Authenticates devices at the token endpoint: by certificate, and by a bound secret if they send
// one.
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import { type AuthenticatedDevice, requestDevice } from '../../devices/authenticated-device.ts';
import type { DeviceSecrets } from '../../devices/device-secrets.ts';

/** The device of the request that oidc-provider handles now. */
export function currentDevice(): AuthenticatedDevice | undefined {
  return requestDevice(currentContext()?.req);
}

function currentContext(): KoaContextWithOIDC | undefined {
  return Provider.ctx;
}

/** Whether oidc-provider handles a token request now. */
export const isTokenRequest = (): boolean => currentContext()?.oidc?.route === 'token';

/**
 * A device that acts for itself needs the secret as well; with a user, the certificate is enough.
 */
function needsSecret({ oidc, headers }: KoaContextWithOIDC): boolean {
  const { grant_type: grantType, client_secret: secret } = oidc.params ?? {};
  return (
    grantType === 'client_credentials' || Boolean(secret) || headers.authorization !== undefined
  );
}

/**
 * On the device listener, the certificate authenticates the client (RFC 8705, 2), whatever method
 * it is registered with. A secret must be bound to that certificate.
 */
export function authenticateDeviceClients(
  provider: Provider,
  verify: DeviceSecrets['verify'],
): void {
  const { prototype } = provider.Client;
  const { compareClientSecret } = prototype;
  prototype.compareClientSecret = async function compareBound(actual: string) {
    const device = currentDevice();
    return device === undefined
      ? compareClientSecret.call(this, actual)
      : verify(device, this.clientId, actual);
  };
  const registered = Object.getOwnPropertyDescriptor(prototype, 'clientAuthMethod')?.get;
  Object.defineProperty(prototype, 'clientAuthMethod', {
    configurable: true,
    get() {
      const context = currentContext();
      if (context === undefined || currentDevice() === undefined) return registered?.call(this);
      return needsSecret(context) ? 'client_secret_post' : 'none';
    },
  });
}
