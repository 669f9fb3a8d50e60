// The door of users: those who manage the people of a user domain come in here.
import type { FastifyInstance } from 'fastify';
import { registerGroupRoutes } from './group-routes.ts';
import { createGroups } from './predefined-groups.ts';
import { createUsers, type UsersDeps } from './user-management.ts';
import { registerUserRoutes } from './user-routes.ts';
import { registerUserSessionRoutes } from './user-session-routes.ts';
import { createUserSessions, type UserSessionsDeps } from './user-sessions.ts';

export type { UsersDeps } from './user-management.ts';

/** @example registerUsers(http.app, { accounts, sessions, demandMerchant, audit, database }); */
export function registerUsers(
  app: FastifyInstance,
  deps: UsersDeps & Omit<UserSessionsDeps, 'users'>,
): void {
  const users = createUsers(deps);
  registerUserRoutes(app, users);
  registerUserSessionRoutes(app, createUserSessions({ ...deps, users }));
  registerGroupRoutes(app, createGroups(deps));
}
