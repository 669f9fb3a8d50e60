// How a device proves itself at the token endpoint: by its certificate, and where it sends one by a bound secret.
import Provider, { type KoaContextWithOIDC } from 'oidc-provider';
import { type AuthenticatedDevice, requestDevice } from '../../devices/authenticated-device.ts';
import type { DeviceSecrets } from '../../devices/device-secrets.ts';

/** The device behind what the library is doing at this moment. */
export function currentDevice(): AuthenticatedDevice | undefined {
  return requestDevice(currentContext()?.req);
}

function currentContext(): KoaContextWithOIDC | undefined {
  return Provider.ctx;
}

/** Whether the library answers a request to the token endpoint at this moment. */
export const isTokenRequest = (): boolean => currentContext()?.oidc?.route === 'token';

/** A device that acts for itself needs the secret as well; with a user the certificate is enough. */
function needsSecret({ oidc, headers }: KoaContextWithOIDC): boolean {
  const { grant_type: grantType, client_secret: secret } = oidc.params ?? {};
  return (
    grantType === 'client_credentials' || Boolean(secret) || headers.authorization !== undefined
  );
}

/**
 * On the device listener a client is authenticated by the certificate (RFC 8705, 2), whatever it is
 * registered with, and a secret is good there only if it is bound to that certificate.
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
