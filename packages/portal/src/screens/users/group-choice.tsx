/** Selects groups, with the permissions of each group. */
import { Checkbox } from '@mantine/core';
import type { Group } from '@switchyard/contract';
import { useQuery } from '@tanstack/react-query';
import { api } from '../../api/client.ts';
import { ErrorMessage } from '../../components/layout/error-message.tsx';
import { Loading } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useGroupsUrl } from './users-url.ts';
import './users.css';

export function GroupChoice({
  entityId,
  value,
  error,
  onChange,
}: {
  readonly entityId: string;
  readonly value: readonly string[];
  readonly error: string | undefined;
  readonly onChange: (groups: readonly string[]) => void;
}) {
  const t = useTranslate('users');
  const address = useGroupsUrl();
  const groups = useQuery({
    queryKey: ['groups', entityId],
    queryFn: ({ signal }) => api.get<{ items: Group[] }>(address, { query: { entityId }, signal }),
  });
  if (groups.error !== null) return <ErrorMessage fault={groups.error} />;
  if (groups.data === undefined) return <Loading lines={4} />;
  return (
    <Checkbox.Group
      label={t('fields.groups')}
      value={[...value]}
      error={error}
      onChange={(next) => onChange(next)}
    >
      <div className="sy-field-options">
        {groups.data.items.map(({ name, group }) => (
          <Checkbox
            key={name}
            value={name}
            label={t(`groupNames.${group}`)}
            description={t(`groupRights.${group}`)}
          />
        ))}
      </div>
    </Checkbox.Group>
  );
}
