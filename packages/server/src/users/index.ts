// The door of users: those who manage the people of a user domain come in here.
import type { FastifyInstance } from 'fastify';
import { registerGroupRoutes } from './group-routes.ts';
import { createGroups } from './groups.ts';
import { createUsers, type UsersDeps } from './operations.ts';
import { registerUserRoutes } from './routes.ts';
import { registerUserSessionRoutes } from './session-routes.ts';
import { createUserSessions, type UserSessionsDeps } from './sessions.ts';

export type { UsersDeps } from './operations.ts';

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
