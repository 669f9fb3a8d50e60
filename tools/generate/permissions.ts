// docs/reference/permissions.md: which group and which application role may do what, and on which route.
import { groupLevels, groupPermissions, rolePermissions } from '@switchyard/contract';
import { code, table } from './markdown.ts';

const opening = `# Permissions

A token carries the permissions of its owner in the claim \`permissions\`; the [API](openapi.json)
names with each route the one that it asks for.

## Groups of users

`;

type Operation = { readonly 'x-permission': string | readonly string[] };
type Document = { readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> };
type Table = Readonly<Record<string, readonly string[]>>;

const open: Readonly<Record<string, string>> = {
  public: 'needs no token',
  token: 'any valid token',
  certificate: 'the certificate of a device',
};

const aboutRoutes = `## Routes

Of several permissions one is enough. A caller with none of them gets 403
\`permission_denied\`; what belongs to another organisation is 404, as is what belongs to another
merchant for a caller of a merchant.

`;

/** Every route with what it asks for, and who has that. */
function routesTable({ paths }: Document): string {
  const holders = (all: Table, needed: readonly string[]) =>
    Object.keys(all)
      .filter((name) => all[name]?.some((permission) => needed.includes(permission)))
      .map(code)
      .join(' ');
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { 'x-permission': permission }]) => {
      const needed = [permission].flat();
      const name = code(`${method.toUpperCase()} ${path}`);
      const openAccess = open[String(permission)];
      if (openAccess !== undefined) return [name, openAccess, '', ''];
      const requiredPermissions = needed.map(code).join(' ');
      return [
        name,
        requiredPermissions,
        holders(groupPermissions, needed),
        holders(rolePermissions, needed),
      ];
    }),
  );
  return table(['Route', 'Needs', 'Groups', 'Roles'], rows);
}

/** @param openApi the document of the API, as JSON */
export function permissionsDocument(openApi: string): string {
  const groups = Object.entries(groupPermissions).map(([name, granted]) => {
    const level = groupLevels[name as keyof typeof groupLevels];
    const pattern = level === 'organization' ? `{organizationId}_${name}` : `{merchantId}_${name}`;
    return [code(pattern), level, granted.map(code).join(' ')];
  });
  const roles = Object.entries(rolePermissions).map(([name, granted]) => [
    code(name),
    granted.map(code).join(' '),
  ]);
  const rolesTable = table(['Role', 'Permissions'], roles);
  const groupsTable = table(['Group', 'Level', 'Permissions'], groups);
  return `${opening}${groupsTable}\n\n## Roles of applications\n\n${rolesTable}\n\n${aboutRoutes}${routesTable(JSON.parse(openApi) as Document)}\n`;
}
