/** The navigation on a small screen: it comes from the side and goes again. */
import { Drawer } from '@mantine/core';
import { useWords } from '../words/index.ts';
import { Rail } from './rail.tsx';

export default function RailDrawer({
  isOpen,
  onClose,
}: {
  readonly isOpen: boolean;
  readonly onClose: () => void;
}) {
  const t = useWords('shell');
  return (
    <Drawer.Root opened={isOpen} onClose={onClose} size="17rem" padding={0}>
      <Drawer.Overlay />
      <Drawer.Content className="sy-drawer" aria-label={t('navigation')}>
        <Drawer.Body className="sy-drawer-body">
          <Rail />
        </Drawer.Body>
      </Drawer.Content>
    </Drawer.Root>
  );
}
