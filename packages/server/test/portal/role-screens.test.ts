// Every screen with every role: the portal opens it, or says that the user has no permission.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined, groupPermissions } from '@switchyard/contract';
import { innerScreens, merchantRoles, type Role, rail, users } from './role-screens.ts';

type Screen = { readonly path: string };
type ScreenAccess = {
  isAccessibleTo(screen: Screen, user: object, portal: 'portal'): boolean;
};

/** The server does not import the portal, whose sources have other types; this test reads its table. */
const portalModule = (path: string) =>
  import(new URL(`../../../portal/src/${path}`, import.meta.url).href);
const { screens } = (await portalModule('screens.ts')) as { screens: readonly Screen[] };
const { isAccessibleTo } = (await portalModule('app/screen-access.ts')) as ScreenAccess;

for (const role of Object.keys(users) as Role[]) {
  test(`${role} can open the screens of its role, and no others`, () => {
    const user = {
      permissions: [...groupPermissions[role]],
      environment: 'demo',
      isOperator: role === 'org_admin',
      ...defined({ merchantId: merchantRoles.includes(role) ? 'm' : undefined }),
    };
    for (const [address, roles] of [...rail, ...innerScreens]) {
      const [path] = address.split('?');
      const screen = screens.find((each) => each.path === path);
      assert.ok(screen, `${path} is a screen`);
      assert.equal(isAccessibleTo(screen, user, 'portal'), roles.includes(role), address);
    }
  });
}
