// docs/reference/permissions.md: which group and which application role may do what.
import { groupLevels, groupPermissions, rolePermissions } from '@switchyard/contract';
import { code, table } from './markdown.ts';

const opening = `# Permissions

A token carries the permissions of its owner in the claim \`permissions\`; the [API](openapi.json)
names with each route the one that it asks for.

## Groups of users

`;

export function permissionsDocument(): string {
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
  return `${opening}${groupsTable}\n\n## Roles of applications\n\n${rolesTable}\n`;
}
