/**
 * Decides which users may open a screen; the sidebar, the routes and all links use the same rule.
 */
import type { Permission } from '@switchyard/contract';
import type { Session } from '../session/signed-in-user.ts';
import type { PortalName } from './current-portal.ts';

export type ScreenAccess = {
  /** The user needs one of these permissions. If empty, all users may open the screen. */
  readonly requiresOneOf: readonly Permission[];
  readonly portals: readonly PortalName[];
  /** Only for users of the organisation, not for users of a merchant. */
  readonly isOrganizationOnly?: true;
  /** Only for the organisation that operates the platform. */
  readonly isOperatorOnly?: true;
  /** If omitted, the screen exists in all environments. */
  readonly environments?: readonly Session['environment'][];
};

export type PortalUser = Pick<Session, 'permissions' | 'environment' | 'merchantId' | 'isOperator'>;

/** Whether the screen exists in this portal and environment, for any user. */
export function isAvailable(
  { portals, environments }: ScreenAccess,
  { environment }: Pick<PortalUser, 'environment'>,
  entry: PortalName,
): boolean {
  return portals.includes(entry) && (environments?.includes(environment) ?? true);
}

/** Whether the screen exists and this user may open it. */
export function isAccessibleTo(
  access: ScreenAccess,
  visitor: PortalUser,
  entry: PortalName,
): boolean {
  const { requiresOneOf, isOrganizationOnly, isOperatorOnly } = access;
  const { permissions, merchantId, isOperator } = visitor;
  return (
    isAvailable(access, visitor, entry) &&
    (isOrganizationOnly === undefined || merchantId === undefined) &&
    (isOperatorOnly === undefined || isOperator === true) &&
    (requiresOneOf.length === 0 || requiresOneOf.some((each) => permissions.includes(each)))
  );
}
