/** The navigation on a small screen: it comes from the side and goes again. */
import { Drawer } from '@mantine/core';
import { useTranslate } from '../locales/index.ts';
import { Rail } from './sidebar.tsx';

export default function RailDrawer({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  const t = useTranslate('shell');
  return (
    <Drawer.Root
      opened={isOpen}
      onClose={onClose}
      size="17rem"
      padding={0}
      classNames={{ content: 'sy-drawer', body: 'sy-drawer-body' }}
    >
      <Drawer.Overlay backgroundOpacity={0.45} />
      <Drawer.Content aria-label={t('navigation')}>
        <Drawer.Body>
          <Rail />
        </Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
