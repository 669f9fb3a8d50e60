// The door of users: those who manage the people of a user domain come in here.
import type { FastifyInstance } from 'fastify';
import { registerGroupRoutes } from './group-routes.ts';
import { createGroups } from './groups.ts';
import { createUsers, type UsersDeps } from './operations.ts';
import { registerUserRoutes } from './routes.ts';

export type { UsersDeps } from './operations.ts';

/** @example registerUsers(http.app, { accounts: identity.accounts, findMerchant, audit }); */
export function registerUsers(app: FastifyInstance, deps: UsersDeps): void {
  registerUserRoutes(app, createUsers(deps));
  registerGroupRoutes(app, createGroups(deps));
}
