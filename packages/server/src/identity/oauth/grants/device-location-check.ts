// Whether a user may sign in at the device of a request, at its current location.
import { errors } from 'oidc-provider';
import type { User } from '../../accounts/types.ts';
import type { Application } from '../../clients/application-record.ts';
import type { AuthenticatedDevice } from '../../devices/authenticated-device.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import type { SignInDevice } from '../../tokens/authentication-claims.ts';

const invalidGrant = (detail: string) => new errors.InvalidGrant(detail);

/** Only users of the device's merchant may sign in at it, no users of the organisation. */
export function requireDeviceLocation(
  device: AuthenticatedDevice,
  realm: Realm,
  { user, application }: { readonly user: User; readonly application: Application },
): void {
  const { merchantId, storeId } = device.location;
  if (device.organizationId !== realm.organizationId)
    throw invalidGrant('the device belongs to another realm');
  if (user.entityType !== 'merchant')
    throw invalidGrant('users of the organisation cannot sign in at a device');
  if (user.entityId !== merchantId) throw invalidGrant('the device belongs to another merchant');
  if (application.entityType === 'merchant' && application.entityId !== merchantId) {
    throw invalidGrant('the application belongs to another merchant');
  }
  if ((application.storeId ?? storeId) !== storeId) {
    throw invalidGrant('the application belongs to another store');
  }
}

/** The facts about the device that a sign-in stores. */
export const signInDeviceOf = ({ tsn, location }: AuthenticatedDevice): SignInDevice => ({
  type: 'ConfidentialDevice',
  id: tsn,
  methods: ['device_flow'],
  deviceId: location.logicalDeviceId,
  storeId: location.storeId,
});
