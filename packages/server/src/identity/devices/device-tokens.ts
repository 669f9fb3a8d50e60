// Issues tokens to a device that acts for itself, bound to its certificate.
import type { Clock, Ids } from '../../platform/index.ts';
import type { Application } from '../clients/application-record.ts';
import type { Realm } from '../realms-and-keys/realm-types.ts';
import type { SignInDevice } from '../tokens/authentication-claims.ts';
import { accessTokenHash } from '../tokens/issue-user-tokens.ts';
import { signAccessToken, signJwt } from '../tokens/realm-jwt.ts';
import {
  type MachineTokenInput,
  machineAccessTokenClaims,
  machineIdTokenClaims,
} from '../tokens/token-claims.ts';
import type { AuthenticatedDevice } from './authenticated-device.ts';

/** Terminals cannot configure a scope. */
export const defaultDeviceScope = 'openid profile email auth';
const defaultAccessTokenSeconds = 3600;

export type DeviceTokenResponse = {
  readonly access_token: string;
  readonly expires_in: number;
  /** 0: the device has no refresh token and can authenticate again at any time. */
  readonly refresh_expires_in: 0;
  readonly token_type: 'Bearer';
  readonly id_token?: string;
  readonly 'not-before-policy': 0;
  readonly scope: string;
};

export type DeviceTokenIssuer = ReturnType<typeof createDeviceTokenIssuer>;

function signInDeviceOf({ tsn, location }: AuthenticatedDevice): SignInDevice {
  return {
    type: 'UnattendedDevice',
    id: tsn,
    methods: ['api'],
    deviceId: location.logicalDeviceId,
    storeId: location.storeId,
  };
}

export function createDeviceTokenIssuer({ clock, ids }: { clock: Clock; ids: Ids }) {
  async function idToken(input: MachineTokenInput, accessToken: string): Promise<string> {
    const claims = machineIdTokenClaims({ ...input, tokenId: ids.uuidV4() });
    const at_hash = accessTokenHash(accessToken);
    return signJwt(input.realm.signing.ES256, { ...claims, at_hash });
  }

  return {
    async issue(
      realm: Realm,
      application: Application,
      device: AuthenticatedDevice,
      scope: string,
    ): Promise<DeviceTokenResponse> {
      const issuedAt = Math.floor(clock.now() / 1000);
      const seconds = application.accessTokenSeconds ?? defaultAccessTokenSeconds;
      const input: MachineTokenInput = {
        realm,
        application,
        scope,
        tokenId: ids.uuidV4(),
        issuedAt,
        expiresAt: issuedAt + seconds,
        device: signInDeviceOf(device),
        certificate: device.thumbprint,
      };
      const accessToken = await signAccessToken(
        realm,
        application,
        'ES256',
        machineAccessTokenClaims(input),
      );
      const hasIdToken = scope.split(' ').includes('openid');
      return {
        access_token: accessToken,
        expires_in: seconds,
        refresh_expires_in: 0,
        token_type: 'Bearer',
        ...(hasIdToken ? { id_token: await idToken(input, accessToken) } : {}),
        'not-before-policy': 0,
        scope,
      };
    },
  };
}
