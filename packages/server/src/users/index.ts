// The interface of user management: users of a user domain, their sessions and groups.
import type { FastifyInstance } from 'fastify';
import { createPredefinedGroups } from './predefined-groups.ts';
import { createUserManagement, type UserManagementDependencies } from './user-management.ts';
import {
  registerGroupRoutes,
  registerUserRoutes,
  registerUserSessionRoutes,
} from './user-routes.ts';
import { createUserSessions, type UserSessionsDependencies } from './user-sessions.ts';

export type { UserManagementDependencies } from './user-management.ts';

/** @example registerUsers(http.app, { accounts, sessions, requireMerchant, audit, database }); */
export function registerUsers(
  app: FastifyInstance,
  deps: UserManagementDependencies & Omit<UserSessionsDependencies, 'users'>,
): void {
  const users = createUserManagement(deps);
  registerUserRoutes(app, users);
  registerUserSessionRoutes(app, createUserSessions({ ...deps, users }));
  registerGroupRoutes(app, createPredefinedGroups(deps));
}
