/** Shows the effective value of each setting, and the level that sets it. */
import { Table, TextInput } from '@mantine/core';
import type { ServiceConfiguration } from '@switchyard/contract';
import { useState } from 'react';
import { Icon } from '../../components/icon.tsx';
import { EmptyState, Panel } from '../../components/layout/page.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import { pointerText, shortValue, valueAt } from './json-pointers.ts';

type Source = ServiceConfiguration['effective']['sources'][number];
type Line = Source & { readonly text: string; readonly isSecret: boolean };

/** More lines would block the page. */
const displayLimit = 500;

/** The nearest level comes first. */
const nearness: readonly Source['level'][] = [
  ...(['LogicalDevice', 'Store', 'Merchant'] as const),
  ...(['Organization', 'Service'] as const),
];

function linesOf({ effective: { values, sources, secrets } }: ServiceConfiguration): Line[] {
  const lines = [
    ...sources.map((source) => ({
      ...source,
      text: shortValue(valueAt(values, source.pointer)),
      isSecret: false,
    })),
    ...secrets.map((source) => ({ ...source, text: '', isSecret: true })),
  ];
  return lines.toSorted((a, b) => nearness.indexOf(a.level) - nearness.indexOf(b.level));
}

export function EffectiveValues({
  configuration,
}: {
  readonly configuration: ServiceConfiguration;
}) {
  const t = useTranslate('configuration');
  const [searchText, setWanted] = useState('');
  const lines = linesOf(configuration);
  const matching = lines.filter(({ pointer, text }) =>
    `${pointerText(pointer)} ${text}`.toLowerCase().includes(searchText.toLowerCase().trim()),
  );
  if (lines.length === 0) {
    return (
      <EmptyState icon="configuration" title={t('nothing.title')}>
        {t('nothing.text')}
      </EmptyState>
    );
  }
  const { entityId } = configuration;
  return (
    <Panel
      title={t('holds')}
      flush
      actions={
        <TextInput
          type="search"
          size="xs"
          aria-label={t('searchValues')}
          placeholder={t('searchValues')}
          leftSection={<Icon name="search" size={14} />}
          value={searchText}
          onChange={({ currentTarget }) => setWanted(currentTarget.value)}
        />
      }
    >
      <div className="sy-conf-values">
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{t('member')}</Table.Th>
              <Table.Th>{t('value')}</Table.Th>
              <Table.Th>{t('from')}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {matching.slice(0, displayLimit).map((line) => (
              <Table.Tr key={line.pointer}>
                <Table.Td className="sy-broken">{pointerText(line.pointer)}</Table.Td>
                <Table.Td className="sy-broken">
                  {line.isSecret ? <em>{t('secret')}</em> : <code>{line.text}</code>}
                </Table.Td>
                <Table.Td>
                  <From line={line} isHere={line.entityId === entityId} />
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
      {matching.length > displayLimit && (
        <p className="sy-conf-more">{t('more', { count: matching.length - displayLimit })}</p>
      )}
      {matching.length === 0 && <p className="sy-conf-more">{t('noValue')}</p>}
    </Panel>
  );
}

function From({ line, isHere }: { readonly line: Line; readonly isHere: boolean }) {
  const t = useTranslate('configuration');
  return (
    <StateBadge state="" tone={isHere ? 'busy' : 'plain'}>
      {isHere ? t('here') : t(`levelNames.${line.level}`)}
    </StateBadge>
  );
}
