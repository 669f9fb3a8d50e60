/** Shared components of detail pages: status, tabs and common details. */
import { Tabs } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useSearchParams } from '../../app/url-params.ts';
import { Panel } from '../../components/layout/page.tsx';
import { copyItem, timeItem } from '../../components/values/description-items.tsx';
import { StateBadge } from '../../components/values/state-badge.tsx';
import { useTranslate } from '../../locales/index.ts';
import './estate.css';

export function StatusBadge({ status }: { readonly status: 'Enabled' | 'Disabled' }) {
  const t = useTranslate('estate');
  return <StateBadge state={status}>{t(`statuses.${status}`)}</StateBadge>;
}

export type DetailTab = {
  readonly name: string;
  readonly label: string;
  readonly content: ReactNode;
};

/** The page address contains the open tab; other search parameters are removed. */
export function useTab(names: readonly string[]): [string, (name: string) => void] {
  const requestedTab = useSearchParams()['tab'] ?? '';
  const navigate = useNavigate();
  const first = names[0] ?? '';
  const open = names.includes(requestedTab) ? requestedTab : first;
  return [
    open,
    (name) =>
      void navigate({
        to: '.',
        replace: true,
        search: (name === first ? {} : { tab: name }) as never,
      }),
  ];
}

export function PageTabs({
  label,
  tabs,
  open,
  onOpen,
}: {
  readonly label: string;
  readonly tabs: readonly DetailTab[];
  readonly open: string;
  readonly onOpen: (name: string) => void;
}) {
  return (
    <Tabs
      className="sy-tabs"
      value={open}
      keepMounted={false}
      onChange={(name) => onOpen(name ?? '')}
    >
      <Tabs.List aria-label={label}>
        {tabs.map(({ name, label: word }) => (
          <Tabs.Tab key={name} value={name}>
            {word}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {tabs.map(({ name, content }) => (
        <Tabs.Panel key={name} value={name} className="sy-tab">
          {content}
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}

type Common = {
  readonly externalId?: string | undefined;
  readonly createdAt: string;
  readonly updatedAt: string;
};

/** The identifiers and times at the end of each detail list. */
export function useCommonDetails(id: string, entity: Common) {
  const t = useTranslate('estate');
  return [
    [t('fields.externalId'), entity.externalId],
    copyItem(t('identifier'), id),
    timeItem(t('created'), entity.createdAt),
    timeItem(t('updated'), entity.updatedAt),
  ] as const;
}

export function LabelList({ labels }: { readonly labels: Readonly<Record<string, string>> }) {
  const t = useTranslate('estate');
  const entries = Object.entries(labels);
  if (entries.length === 0) return null;
  return (
    <Panel title={t('sections.labels')}>
      <ul className="sy-label-list">
        {entries.map(([key, value]) => (
          <li key={key} className="sy-label sy-broken">
            <span>{key}</span>
            <bdi>{value}</bdi>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

type AddressFacts = {
  readonly line1: string;
  readonly line2?: string | undefined;
  readonly postalCode?: string | undefined;
  readonly city: string;
  readonly region?: string | undefined;
};

export function PostalAddress({ address }: { readonly address: AddressFacts | undefined }) {
  if (address === undefined) return null;
  const town = [address.postalCode, address.city].filter((part) => part !== undefined).join(' ');
  const lines = [address.line1, address.line2, town, address.region].filter(
    (line) => line !== undefined,
  );
  return (
    <span className="sy-address">
      {lines.map((line) => (
        <bdi key={line}>{line}</bdi>
      ))}
    </span>
  );
}
