/** The command palette (Ctrl+K): opens a screen by name or searches a payment. */
import { Spotlight, spotlight } from '@mantine/spotlight';
import '@mantine/spotlight/styles.layer.css';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useState } from 'react';
import { currentPortal } from '../app/current-portal.ts';
import { useScreens } from '../app/use-screens.ts';
import { Icon } from '../components/icon.tsx';
import { useTranslate } from '../locales/index.ts';
import { navigationFor } from '../navigation.ts';
import { useSession } from '../session/use-session.ts';

export default function CommandPalette({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  const t = useTranslate('shell');
  const names = useTranslate('navigation');
  const session = useSession();
  const navigate = useNavigate();
  const [query, setQuery] = useState('');
  useEffect(() => {
    if (isOpen) spotlight.open();
  }, [isOpen]);
  const groups = navigationFor(useScreens(), session, currentPortal).map(({ labelKey, items }) => ({
    group: names(`sections.${labelKey}`),
    actions: items.map((item) => ({
      id: item.to,
      label: names(`items.${item.labelKey}`),
      leftSection: <Icon name={item.icon} size={18} />,
      onClick: () => void navigate({ to: item.to }),
    })),
  }));
  const canSearch = session.permissions.includes('rep.read');
  const canOpen = canSearch || session.permissions.includes('pay.read');
  const text = query.trim();
  const search = {
    group: t('palette.find'),
    actions: [
      {
        id: 'find-payment',
        label: t('palette.payment', { text }),
        // Matches any input.
        keywords: [text],
        leftSection: <Icon name="search" size={18} />,
        // Users without search permission open a payment by its complete identifier.
        onClick: () =>
          void (canSearch
            ? navigate({ to: '/payments', search: { text } as never })
            : navigate({ to: `/payments/${encodeURIComponent(text)}` })),
      },
    ],
  };
  return (
    <Spotlight
      actions={canOpen && currentPortal === 'portal' && text !== '' ? [...groups, search] : groups}
      query={query}
      onQueryChange={setQuery}
      shortcut={null}
      overlayProps={{ backgroundOpacity: 0.45, blur: 2 }}
      attributes={{ content: { 'aria-label': t('search') } }}
      nothingFound={t('palette.nothing')}
      highlightQuery
      scrollable
      maxHeight={420}
      onSpotlightClose={onClose}
      searchProps={{
        leftSection: <Icon name="search" size={18} />,
        placeholder: t('palette.placeholder'),
        'aria-label': t('palette.placeholder'),
      }}
    />
  );
}
